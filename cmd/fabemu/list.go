package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/document"
	"fabemu/emu/base/spelling"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/wire/param"
	"fabemu/wire/unit"

	"github.com/spf13/cobra"
)

// listed is a scenario in the list, as in JSON.
type listed struct {
	Name        string  `json:"name"`
	Source      string  `json:"source"`
	Description string  `json:"description"`
	Default     bool    `json:"default"`     // run when none is named
	DurationPs  int64   `json:"duration_ps"` // model time
	Dilation    int64   `json:"dilation"`
	WallSeconds float64 `json:"wall_seconds"` // of a run at that dilation
	// ShortWallSeconds is the wall time of the short run; 0: there is none.
	ShortWallSeconds float64 `json:"short_wall_seconds,omitempty"`
	// Guests marks a scenario with real hosts: it needs root, and has no virtual clock.
	Guests bool `json:"guests,omitempty"`
}

func listCommand() *cobra.Command {
	var f commonFlags
	c := &cobra.Command{
		Use:   "list [WORD...]",
		Short: "List the built-in scenarios",
		RunE: func(c *cobra.Command, words []string) error {
			if f.JSON {
				if c.Flags().Changed("format") && f.Format != "json" {
					return fmt.Errorf("--json and --format %s exclude each other", f.Format)
				}
				f.Format = "json"
			}
			items, err := listOf(words)
			if err != nil {
				return err
			}
			switch w, look := c.OutOrStdout(), terminal.LookOf(os.Stdout); {
			case f.Format == "json":
				_ = report.WriteJSON(w, items)
			case f.Format == "csv":
				listCSV(w, items)
			case f.Long:
				fmt.Fprint(w, listPage(items, look))
			default:
				fmt.Fprint(w, listLines(items, look))
			}
			return nil
		},
	}
	f.formats(c, "table", "json", "csv")
	add(c, &f, "long", "json")
	return c
}

// listOf returns the scenarios with all of some words in the name, the source or the description.
func listOf(words []string) ([]listed, error) {
	items, names := []listed{}, []string{}
	usual := param.Defaults(scenario.Wall{}).Dilation
	for _, e := range builtin.List() {
		family, _, _ := strings.Cut(e.Name, "/")
		names = append(names, e.Name, family)
		text := strings.ToLower(e.Name + " " + e.Source + " " + e.Description)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) }) {
			continue
		}
		item := listed{Name: e.Name, Source: e.Source, Description: e.Description, Default: e.Name == builtin.Default,
			DurationPs: int64(e.Whole.Duration), Dilation: cmp.Or(e.Whole.Dilation, usual), Guests: e.Guests}
		item.WallSeconds = wallTime(e.Whole.Duration, item.Dilation).Seconds()
		if e.Short.Duration > 0 {
			item.ShortWallSeconds = wallTime(e.Short.Duration, cmp.Or(e.Short.Dilation, usual)).Seconds()
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		word := strings.Join(words, " ")
		return nil, fmt.Errorf("no scenario has %q in its name, source or description%s; fabemu list shows all",
			word, spelling.DidYouMean(spelling.Nearest(word, names)))
	}
	return items, nil
}

// name is the name in a list for people.
func (x *listed) name() string {
	if x.Default {
		return x.Name + " (default)"
	}
	return x.Name
}

// time is how long a run takes, in a list for people; where asked for, how long the short run
// takes, too.
func (x *listed) time(short bool) string {
	time := durationText(seconds(x.WallSeconds))
	if short && x.ShortWallSeconds > 0 {
		time += fmt.Sprintf(" (--short %s)", durationText(seconds(x.ShortWallSeconds)))
	}
	if x.Guests {
		time += " (root)"
	}
	return time
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// listCSV is the list for spreadsheets.
func listCSV(w io.Writer, items []listed) {
	rows := [][]string{{"name", "source", "wall_time", "what_it_shows"}}
	for _, x := range items {
		rows = append(rows, []string{x.Name, x.Source, x.time(true), x.Description})
	}
	_ = csv.NewWriter(w).WriteAll(rows)
}

// listLines is the list for people, a line for each scenario.
func listLines(items []listed, look terminal.Look) string {
	t := &document.Table{Columns: []document.Column{{Head: "NAME"}, {Head: "WALL TIME"}, {Head: "DESCRIPTION", Wrap: true, Fill: true, Lines: 1, Least: 20}}}
	for _, x := range items {
		t.Add(x.name(), x.time(false), x.Description)
	}
	p := terminal.Page{Look: look}
	t.Text(&p, 0)
	return p.String()
}

// listPage is the list for people in full: the description and the source of a scenario are below
// its name and its wall time.
func listPage(items []listed, look terminal.Look) string {
	p := terminal.Page{Look: look}
	for _, x := range items {
		p.Line("%s%s", p.Paint(terminal.Bold, terminal.Left(x.name(), 26)), x.time(true))
		for _, text := range []string{x.Description, x.Source} {
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
