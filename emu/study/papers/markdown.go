package papers

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"fabemu/emu/base/document"
	"fabemu/emu/result/report"
)

// WriteMarkdown writes the claims and tables as a document, with the pictures at
// the places that link returns; "" leaves a picture out. Nothing in it depends on the
// machine or on how long it took.
func (r *Result) WriteMarkdown(w io.Writer, link func(picture string) string) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	says := ": claims and outcomes"
	if len(r.Tally()) == 0 {
		says = ""
	}
	line("# %s%s", r.Source, says)
	line("\n*%s.* This document is written by the program: `fabemu reproduce %s` makes the same figures and, beside them, the pictures and a page for browsers.", r.Title, r.Paper)
	line("")
	if tally := r.Tally(); len(tally) == 0 {
		line("On the %s clock.", r.Clock)
	} else {
		line("%s, on the %s clock. Quoted claims have the words of the source, with ... for omitted words. Derived claims name the statement from which they follow. Claims without a source stand in tables of their own. A value with a deviation is the mean of %d seeds with its standard deviation; other values are of one run. A claim near a bound has three times as many seeds. A claim holds if the mean is in its range, and the values of nine seeds in ten are. Each range is the one that the text supports, with the reason; the reason states where our figure was known before. A claim outside its range is marked DIFFERS, with the reason.", tally, r.Clock, r.Seeds)
	}
	if r.About != "" {
		line("\n%s", strings.TrimSpace(r.About))
	}
	if o := r.overview(); o != nil && link(o.Name) != "" {
		line("\n## At a glance")
		line("\n%s", overviewSays)
		line("\n![%s](%s)", o.Title, link(o.Name))
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
	line("\n`fabemu reproduce %s`. %s", f.Name, f.Caption)
	for _, p := range f.Pictures {
		if to := link(p.Name); to != "" {
			line("\n![%s](%s)", p.Title, to)
		}
	}
	var reasons []string
	table := func(says string, claims []ClaimResult) {
		if len(claims) == 0 {
			return
		}
		t := document.NewTable("", []string{"id", says, "measured", "came out", "accepted", "why this range"}, nil)
		null := slices.ContainsFunc(claims, func(c ClaimResult) bool { return c.Null != nil })
		if null {
			t.Columns = append(t.Columns, document.Column{Head: "if nothing works"})
		}
		t.Columns = append(t.Columns, document.Column{Head: "outcome"})
		for i := range claims {
			c := &claims[i]
			cells := []string{c.ID, c.statement(), c.Measured, c.CameOut(), c.Accepted(), c.Why}
			if null {
				cells = append(cells, c.Nothing())
			}
			t.Add(append(cells, c.Outcome.Word())...)
			if c.Reason != "" {
				reasons = append(reasons, fmt.Sprintf("%s. %s", c.ID, c.because()))
			}
		}
		line("\n%s", strings.TrimSuffix(t.Markdown(), "\n"))
	}
	sourced, ours := report.ByBasis(f.Claims)
	table("statement of the source", sourced)
	table("our expectation", ours)
	for _, x := range reasons {
		line("\n%s", x)
	}
	if f.Matrix != nil {
		f.Matrix.markdown(line)
	}
	if f.Table != nil {
		line("\n%s", strings.TrimSuffix(f.Table.table().Markdown(), "\n"))
	}
}

func (f *FigureResult) heading() string { return f.Source + ": " + f.Title }
