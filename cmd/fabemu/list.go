package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"fabemu/emu/scenario"
	"fabemu/emu/scenarios"
	"fabemu/emu/terminal"
	"fabemu/wire/param"
	"fabemu/wire/unit"

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
	// Guests says that it has real hosts: it needs root, and has no virtual clock.
	Guests bool `json:"guests,omitempty"`
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
			t := listTable()
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

func listTable() *table {
	items := []listed{}
	t := &table{heads: []string{"NAME", "SOURCE", "WALL TIME", "WHAT IT SHOWS"}}
	usual := param.Defaults(scenario.Wall{}).Dilation
	for _, e := range scenarios.List() {
		e.Whole.Dilation, e.Short.Dilation = cmp.Or(e.Whole.Dilation, usual), cmp.Or(e.Short.Dilation, usual)
		took := wallTime(e.Whole.Duration, e.Whole.Dilation)
		item := listed{e.Name, e.Source, e.Description, e.Name == scenarios.Default, int64(e.Whole.Duration),
			e.Whole.Dilation, took.Seconds(), 0, e.Guests}
		time := durationText(took)
		if e.Short.Duration > 0 {
			short := wallTime(e.Short.Duration, e.Short.Dilation)
			item.ShortWallSeconds = short.Seconds()
			time += fmt.Sprintf(" (--short %s)", durationText(short))
		}
		if e.Guests {
			time += " (root)"
		}
		items = append(items, item)
		t.rows = append(t.rows, []string{e.Name, e.Source, time, e.Description})
	}
	t.items = items
	return t
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
func wallTime(model unit.Duration, dilation int64) time.Duration {
	took := time.Duration(model.Seconds() * float64(dilation) * 1e9)
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
