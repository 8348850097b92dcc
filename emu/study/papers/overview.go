package papers

import (
	"cmp"
	"math"
	"path"
	"slices"

	"fabemu/emu/result/plot"
)

// overviewSays explains the overview.
const overviewSays = "Schemes are ranked by one figure per situation, from blue to orange; equal values share a rank, and a level that was never reached ranks last. One figure is not everything: flow control by itself fills most links, at the expense of queues and bystanders."

// overview is the picture of all matrices, a column each, or nil where nothing is ranked.
func (r *Result) overview() *Picture {
	p := &plot.Ranks{Title: r.Title + ", at a glance", Subtitle: r.Source, Stamp: r.stamp()}
	figures := slices.DeleteFunc(r.matrices(), func(f *FigureResult) bool { return f.Matrix.Columns[f.Matrix.Overview].Best == "" })
	if len(figures) == 0 {
		return nil
	}
	var rows []*MatrixRowResult
	for n, f := range figures {
		c, ranks := &f.Matrix.Columns[f.Matrix.Overview], f.Matrix.ranks()
		p.Columns = append(p.Columns, plot.RankColumn{Name: path.Base(f.Name), Figure: cmp.Or(f.Matrix.OverviewSays, c.Title()), Best: "first: " + string(c.Best)})
		for i := range f.Matrix.Rows {
			row := &f.Matrix.Rows[i]
			if row.Command == "" { // it was not run
				continue
			}
			k := slices.IndexFunc(rows, func(o *MatrixRowResult) bool { return o.Kind == row.Kind && o.Name == row.Name })
			if k < 0 {
				k, rows = len(rows), append(rows, row)
				p.Rows = append(p.Rows, plot.RankRow{Group: row.Kind, Name: row.Name, Cells: slices.Repeat([]plot.RankCell{{Text: "—"}}, len(figures))})
			}
			p.Rows[k].Cells[n] = ranks[i]
		}
	}
	return &Picture{Name: OverviewName, Title: p.Title, Figure: p}
}

// ranks are the cells of the column of the overview, with their ranks among the rows that were
// run and have a value, or never reached one.
func (m *MatrixResult) ranks() []plot.RankCell {
	cells := make([]plot.RankCell, len(m.Rows))
	var ranked []int
	badness := make([]float64, len(m.Rows))
	for i := range m.Rows {
		c := &m.Rows[i].Cells[m.Overview]
		cells[i].Text = c.Mean()
		switch v := float64(c.Value); {
		case m.Rows[i].Command == "":
			continue
		case cells[i].Text == never:
			badness[i] = math.Inf(1)
		case !c.Value.Known():
			continue
		case c.column.Best == Most:
			badness[i] = -v
		case c.column.Best == Least:
			badness[i] = v
		default:
			badness[i] = math.Abs(v - 1)
		}
		ranked = append(ranked, i)
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(badness[a], badness[b]) })
	for k, i := range ranked {
		cells[i].Rank, cells[i].Of = k+1, len(ranked)
		if k > 0 && cells[ranked[k-1]].Text == cells[i].Text {
			cells[i].Rank = cells[ranked[k-1]].Rank
		}
	}
	return cells
}
