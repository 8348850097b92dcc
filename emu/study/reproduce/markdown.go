package reproduce

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fabemu/emu/report"
)

// WriteMarkdown writes the claims and tables as a document, with the pictures at
// the places that link returns; "" leaves a picture out. Nothing in it depends on the
// machine or on how long it took.
func (r *Result) WriteMarkdown(w io.Writer, link func(picture string) string) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	says := ": what the source says and what comes out"
	if len(r.Tally()) == 0 {
		says = ""
	}
	line("# %s%s", r.Source, says)
	line("")
	line("*%s.* This document is written by the program: `fabemu reproduce %s` makes the same figures and, beside them, the pictures and a page for browsers.", r.Title, r.Paper)
	line("")
	if tally := r.Tally(); len(tally) == 0 {
		line("On the %s clock.", r.Clock)
	} else {
		line("%s, on the %s clock. A quoted claim has the words of the source, with ... for gaps; a derived claim names its reason; checks of ours stand in tables of their own. Where a value has a deviation it is the mean and the standard deviation of %d seeds; other values are of one run. Three times as many are taken where a claim is near a bound. A claim holds if the mean is in its range, and the values of nine seeds in ten are. The ranges are those that the text supports, each with its reason; one that was set with our figures at hand admits it. A claim outside of its range is marked DIFFERS, with the reason.", tally, r.Clock, r.Seeds)
	}
	if r.About != "" {
		line("")
		line("%s", strings.TrimSpace(r.About))
	}
	if o := r.overview(); o != nil && link(o.Name) != "" {
		line("")
		line("## At a glance")
		line("")
		line("%s", overviewSays)
		line("")
		line("![%s](%s)", o.Title, link(o.Name))
	}
	for i := range r.Figures {
		line("")
		r.Figures[i].markdown(line, link)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *FigureResult) markdown(line func(string, ...any), link func(picture string) string) {
	line("## %s", f.heading())
	line("")
	line("`fabemu reproduce %s`. %s", f.Name, f.Caption)
	for _, p := range f.Pictures {
		if to := link(p.Name); to != "" {
			line("")
			line("![%s](%s)", p.Title, to)
		}
	}
	var reasons []string
	table := func(says string, claims []ClaimResult) {
		if len(claims) == 0 {
			return
		}
		line("")
		head, rule := "", ""
		if slices.ContainsFunc(claims, func(c ClaimResult) bool { return c.Null != nil }) {
			head, rule = " if nothing works |", "---|"
		}
		line("| id | %s | measured | came out | accepted | why this range |%s outcome |", says, head)
		line("|---|---|---|---|---|---|---|%s", rule)
		for i := range claims {
			c := &claims[i]
			null := ""
			if head != "" {
				null = " " + cellText(c.Nothing()) + " |"
			}
			line("| %s | %s | %s | %s | %s | %s |%s %s |", c.ID, cellText(c.statement()), cellText(c.Measured), c.CameOut(), c.Accepted(), cellText(c.Why), null, c.Outcome.Word())
			if c.Reason != "" {
				reasons = append(reasons, fmt.Sprintf("%s. %s", c.ID, c.because()))
			}
		}
	}
	sourced, ours := report.ByBasis(f.Claims)
	table("what the source says", sourced)
	table("what we expect", ours)
	for _, x := range reasons {
		line("")
		line("%s", x)
	}
	if f.Matrix != nil {
		f.Matrix.markdown(line)
	}
	if t := f.Table; t != nil {
		line("")
		line("| %s | %s |", t.Title, strings.Join(t.Columns, " | "))
		line("|%s", strings.Repeat("---|", 1+len(t.Columns)))
		for _, row := range t.cells() {
			line("| %s | %s |", cellText(row[0]), strings.Join(row[1:], " | "))
		}
	}
}

func (f *FigureResult) heading() string { return f.Source + ": " + f.Title }

// cellText is a text that stands in a cell.
func cellText(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
