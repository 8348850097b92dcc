package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"fabemu/emu"
	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
	"fabemu/emu/terminal"

	"github.com/spf13/cobra"
)

// listed is a scenario in the list, as JSON has it.
type listed struct {
	Name        string  `json:"name"`
	Source      string  `json:"source"`
	Description string  `json:"description"`
	Default     bool    `json:"default"`     // run when none is named
	DurationPs  int64   `json:"duration_ps"` // model time
	Dilation    int64   `json:"dilation"`
	WallSeconds float64 `json:"wall_seconds"` // of a run at that dilation
	// ShortWallSeconds is that of the short run; 0: there is none.
	ShortWallSeconds float64 `json:"short_wall_seconds,omitempty"`
}

func listCommand() *cobra.Command {
	var format string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "Show the scenarios that come with the program",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON {
				if c.Flags().Changed("format") && format != "json" {
					return fmt.Errorf("--json is --format json, and --format %s is something else: one of them is wanted", format)
				}
				format = "json"
			}
			t, err := listTable()
			if err != nil {
				return failure{err}
			}
			if format == "table" {
				for _, row := range t.rows {
					if row[0] == scenarios.Default {
						row[0] += " (default)"
					}
				}
				if terminal.Is(os.Stdout) { // on which the table is too wide
					_, err := fmt.Fprint(c.OutOrStdout(), listPage(t.rows, terminal.LookOf(os.Stdout)))
					return writing(err)
				}
			}
			return t.print(c.OutOrStdout(), format)
		},
	}
	formatFlag(c, &format, "table", "json", "csv")
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	return c
}

func listTable() (*table, error) {
	items := []listed{}
	t := &table{heads: []string{"NAME", "SOURCE", "WALL TIME", "WHAT IT SHOWS"}}
	for _, e := range scenarios.List() {
		s, err := emu.Open(e.Name)
		if err != nil {
			return nil, err
		}
		took := wallTime(s)
		item := listed{e.Name, e.Source, e.Description, e.Name == scenarios.Default, int64(s.Model.Duration), s.Wall.Dilation, took.Seconds(), 0}
		time := durationText(took)
		if s.HasShort {
			short, err := emu.OpenShort(e.Name)
			if err != nil {
				return nil, err
			}
			item.ShortWallSeconds = wallTime(short).Seconds()
			time += fmt.Sprintf(" (--short %s)", durationText(wallTime(short)))
		}
		items = append(items, item)
		t.rows = append(t.rows, []string{e.Name, e.Source, time, e.Description})
	}
	t.items = items
	return t, nil
}

// listPage is the table for a terminal: what a scenario shows and where it comes from
// stand below its name and its wall time.
func listPage(rows [][]string, look terminal.Look) string {
	p := terminal.Page{Look: look}
	for _, row := range rows {
		p.Line("%s%s", p.Paint(terminal.Bold, terminal.Left(row[0], 26)), row[2])
		for _, text := range []string{row[3], row[1]} {
			if text != "" {
				p.Paragraph(4, text)
			}
		}
	}
	return p.String()
}

// wallTime returns how long a run on the wall clock takes at the dilation of the
// scenario.
func wallTime(s *scenario.Scenario) time.Duration {
	took := time.Duration(s.Model.Duration.Seconds() * float64(s.Wall.Dilation) * 1e9)
	if took > time.Second {
		return took.Round(100 * time.Millisecond)
	}
	return took
}

// durationText prints a duration without zeros at its end: 20m, not 20m0s.
func durationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
