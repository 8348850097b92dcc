package summary

import (
	"fmt"
	"slices"

	"fabemu/emu/base/document"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
)

// figures are the objects of a table whose figures are columns: those that have one in the table of
// figures, and those of rows that a program has added.
type figures[T any] struct {
	of     metrics.Object
	object func(*T) any // the struct of result.json; nil: the item has no row

	first, last string // further columns before and behind them, as of listOf
	before      func(*T) []string
	behind      func(*T) []string

	// cell changes the text of a figure, where it is not nil.
	cell func(item *T, v *report.Value, text string) string
}

// list completes a table with a row for each item that has figures.
func (x *figures[T]) list(t document.Table, items []T) *document.Table {
	addColumns(&t, x.first)
	var columns []report.Value // without numbers
	add := func(f *metrics.Figure) {
		for _, c := range f.Columns {
			if c.Rare && !x.has(f, items) {
				continue
			}
			columns = append(columns, report.Value{Figure: f, Part: c.Part, Number: report.Missing()})
			t.Columns = append(t.Columns, document.Column{Head: c.Head, Right: f.By() == "" || c.Part != "", Least: c.Least})
		}
	}
	for f := range metrics.Figures(x.of) {
		add(f)
	}
	known := func(f *metrics.Figure) bool {
		return metrics.Find(x.of, f.Name) != nil || slices.ContainsFunc(columns, func(c report.Value) bool { return c.Figure.Name == f.Name })
	}
	values := make([][]report.Value, len(items))
	for i := range items {
		object := x.object(&items[i])
		if object == nil {
			continue
		}
		values[i] = report.Values(x.of, object)
		for k := range values[i] {
			if f := values[i][k].Figure; !known(f) { // of a row that a program has added
				add(f)
			}
		}
	}
	addColumns(&t, x.last)
	rates := []report.Number{}
	for i := range items {
		if values[i] == nil {
			continue
		}
		cells := slices.Clone(columns)
		for k, c := range cells {
			if n := slices.IndexFunc(values[i], func(v report.Value) bool { return v.Figure.Name == c.Figure.Name && (c.Part == "" || v.Part == c.Part) }); n >= 0 {
				cells[k] = values[i][n]
			}
			if c.Figure.Unit.Time < 0 {
				rates = append(rates, cells[k].Number)
			}
		}
		values[i] = cells
	}
	rate := ratesLike(slices.Values(rates))
	for i := range items {
		if values[i] == nil {
			continue
		}
		item := &items[i]
		cells := x.before(item)
		for k := range values[i] {
			v := &values[i][k]
			text := textOf(v, rate)
			if x.cell != nil {
				text = x.cell(item, v, text)
			}
			cells = append(cells, text)
		}
		if x.behind != nil {
			cells = append(cells, x.behind(item)...)
		}
		t.Add(cells...)
	}
	return &t
}

// has reports whether an item has a figure that is not 0.
func (x *figures[T]) has(f *metrics.Figure, items []T) bool {
	return slices.ContainsFunc(items, func(item T) bool {
		object := x.object(&item)
		return object != nil && slices.ContainsFunc(report.Values(x.of, object), func(v report.Value) bool {
			return v.Figure == f && v.Number.Known() && v.Number != 0
		})
	})
}

// textOf prints a figure in its unit.
func textOf(v *report.Value, rate func(report.Number) string) string {
	u := v.Figure.Unit
	switch {
	case v.Figure.By() == "endpoint" && v.Part == "":
		return "-"
	case v.Figure.By() == "endpoint":
		return fmt.Sprintf("%s, %.0f times", v.Part, float64(v.Number))
	case u.Time < 0:
		return rate(v.Number)
	case u.Time > 0:
		return inUs(v.Number)
	case u.Whole:
		return v.Number.Print("%.0f")
	}
	return v.Number.Short()
}
