package compare

import (
	"math"
	"slices"
	"strings"

	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
)

// Figure is a figure of a workload in both runs. Its name has the key of result.json, without a
// unit: "web.slowdown.p99".
type Figure struct {
	Name string        `json:"name"`
	Unit string        `json:"unit,omitempty"` // of both values
	A    report.Number `json:"a"`
	B    report.Number `json:"b"`

	scales metrics.Unit // in which it is printed
}

// apart returns how far the two values are apart, as a share of the larger one; 1 if one of them is
// not known.
func (f *Figure) apart() float64 {
	switch {
	case f.A == f.B || !f.A.Known() && !f.B.Known():
		return 0
	case !f.A.Known() || !f.B.Known():
		return 1
	}
	return math.Abs(float64(f.B-f.A)) / max(math.Abs(float64(f.A)), math.Abs(float64(f.B)))
}

// workloads compares the figures of the workloads that both have.
func (c *Comparison) workloads(a, b []report.Workload) {
	pairs(a, b, func(w *report.Workload) string { return w.Name }, func(x, y *report.Workload) {
		pairs(figuresOf(x), figuresOf(y), func(f *Figure) string { return f.Name }, func(f, g *Figure) {
			f.B = g.A
			c.Workloads = append(c.Workloads, *f)
		}, func(*Figure, string) {})
	}, func(w *report.Workload, of string) { c.Alone = append(c.Alone, "workload "+w.Name+" of "+of) })
}

// figuresOf returns the figures of a workload; a collective operation has some more, at the end.
func figuresOf(w *report.Workload) (all []Figure) {
	values := report.Values(metrics.Workload, w)
	if w.Collective != nil {
		values = append(values, report.Values(metrics.Collective, w.Collective)...)
	}
	for _, v := range values {
		u := v.Figure.Unit
		all = append(all, Figure{Name: w.Name + "." + v.Name(strings.TrimSuffix(v.Figure.JSON, "_s")), Unit: u.Symbol, A: v.Number, scales: u})
	}
	return all
}

// workloads prints the figures of workloads that differ, or with the whole all of them.
func (t *text) workloads() {
	table, shown, more := t.table("workload", "unit"), shownInputs, 0
	if t.whole {
		shown = math.MaxInt
	}
	for i := range t.all[0].Workloads {
		f := &t.all[0].Workloads[i]
		values, differs, highest := []report.Number{f.A}, false, math.Abs(float64(f.A))
		for _, c := range t.all {
			v := report.Missing()
			if k := slices.IndexFunc(c.Workloads, func(x Figure) bool { return x.Name == f.Name }); k >= 0 {
				x := &c.Workloads[k]
				v, differs, highest = x.B, differs || x.apart() > 0, max(highest, math.Abs(float64(x.B)))
			}
			values = append(values, v)
		}
		switch {
		case !differs && !t.whole:
			continue
		case len(table.Rows) == shown:
			more++
			continue
		}
		scale := f.scales.Fit(highest)
		cells := []string{f.Name}
		for _, v := range values {
			cells = append(cells, (v / report.Number(scale.Base)).Print(figure))
		}
		table.Add(append(cells, scale.Word)...)
	}
	if len(table.Rows) > 0 {
		t.Add(table)
		t.beyond(more, "that differ")
		t.Line("")
	}
}
