package papers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/result/plot"
	"fabemu/emu/result/report"
)

// Ranks go by what is best in a column. Equal figures have one rank, what was never reached has
// the last, and what has no value, or was not run, has none.
func TestOverviewRanks(t *testing.T) {
	missing := report.Missing()
	for _, tc := range []struct {
		column Column
		cells  []CellResult
		want   string
	}{
		{Column{Best: Most}, []CellResult{{Value: 0.5, Seeds: 1}, {Value: 0.9, Seeds: 1}, {Value: 0.7, Seeds: 1}}, "0.5:3 0.9:1 0.7:2"},
		{Column{Best: Most}, []CellResult{{Value: 0.90001, Seeds: 1}, {Value: 0.90002, Seeds: 1}, {Value: 0.8, Seeds: 1}}, "0.9:1 0.9:1 0.8:3"},
		{Column{Best: Whole, Unit: Percent}, []CellResult{{Value: 1.4, Seeds: 1}, {Value: 0.98, Seeds: 1}, {Value: 0.7, Seeds: 1}}, "140:3 98:1 70:2"},
		{Column{Best: Least, Never: true, Unit: Milliseconds}, []CellResult{{Value: missing, Missing: 2}, {Value: 0.02, Seeds: 2}, {Value: missing, Missing: 2}, {Value: 0.01, Seeds: 2}}, "never:3 20:2 never:3 10:1"},
		{Column{Best: Most}, []CellResult{{Value: missing, Reason: "so"}, {Value: 0.4, Seeds: 1}, {Value: missing, Missing: 1}}, "—:0 0.4:1 undefined:0"},
	} {
		m := &MatrixResult{Columns: []Column{tc.column}}
		for i := range tc.cells {
			c := tc.cells[i]
			c.column = &tc.column
			m.Rows = append(m.Rows, MatrixRowResult{Name: fmt.Sprint(i), Command: "fabemu", Cells: []CellResult{c}})
		}
		computed := m.Rows[0]
		computed.Command = ""
		m.Rows = append(m.Rows, computed)
		cells := m.ranks()
		var got []string
		for _, c := range cells[:len(tc.cells)] {
			got = append(got, fmt.Sprintf("%s:%d", c.Text, c.Rank))
		}
		if strings.Join(got, " ") != tc.want || cells[len(tc.cells)].Rank != 0 {
			t.Errorf("%v, want %s", got, tc.want)
		}
	}
}

// The overview has each situation by the column that stands for it, and every scheme that was
// run; where nothing is ranked there is none.
func TestOverview(t *testing.T) {
	p := compareSchemes(builtIn(), true)
	r := &Result{Title: p.Title}
	schemes := len(trials(builtIn()))
	for _, f := range p.Figures {
		m := &MatrixResult{Columns: f.Matrix.Columns, Overview: f.Matrix.Overview, OverviewSays: f.Matrix.OverviewSays}
		if m.Columns[m.Overview].Best == "" || f.Matrix.Rows[0].Cells[m.Overview].Absent != "" {
			t.Errorf("%s has no figure that stands for it", f.Name)
		}
		for k, row := range f.Matrix.Rows {
			out := MatrixRowResult{Kind: row.Kind, Name: row.Name, Cells: make([]CellResult, len(m.Columns))}
			if row.Kind != "computed" {
				out.Command = "fabemu"
			}
			for i := range out.Cells {
				out.Cells[i] = CellResult{Value: report.Number(float64(k) / 100), Seeds: 1, column: &m.Columns[i]}
			}
			m.Rows = append(m.Rows, out)
		}
		r.Figures = append(r.Figures, FigureResult{Name: p.Name + "/" + f.Name, Matrix: m})
	}
	o := r.overview().Figure.(*plot.Ranks)
	if len(o.Columns) != 6 || len(o.Rows) != schemes || o.Columns[4].Name != "transfers" || o.Columns[4].Figure != "95 % take up to (ms)" {
		t.Errorf("%d rows of %d schemes, columns %+v", len(o.Rows), schemes, o.Columns)
	}
	for _, row := range o.Rows {
		if len(row.Cells) != 6 || slices.ContainsFunc(row.Cells, func(c plot.RankCell) bool { return c.Rank == 0 || c.Of != schemes }) {
			t.Errorf("%s %s: %+v", row.Group, row.Name, row.Cells)
		}
	}
	for i := range r.Figures {
		r.Figures[i].Matrix.Overview = columnAt("drops")
	}
	if r.overview() != nil {
		t.Error("drops are not ranked, and there is an overview of them")
	}
}
