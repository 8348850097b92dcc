package sweep

import (
	"fmt"
	"io"
	"strings"

	"fabemu/emu/result/plot"
	"fabemu/emu/result/seeds"
	"fabemu/emu/result/summary"
	"fabemu/emu/study/campaign"
)

// slowdownsFile is the name of the slowdown figure of workloads, without its extension.
const slowdownsFile = "slowdown"

// drawSlowdowns writes the table of workload slowdowns over all seeds, and draws the p99 over flow
// size with a curve for each combination. Without a workload it writes nothing.
func (l *layout) drawSlowdowns(d *campaign.Directory, cells []Cell, style *plot.Style) error {
	var heads []string
	for _, a := range l.apart() {
		heads = append(heads, a.Path)
	}
	var rows []seeds.Row
	var order []string // of workloads
	curves := map[string][]summary.SlowdownCurve{}
	groups := l.groups(cells)
	first := l.first(groups)
	for i := range groups {
		g := &groups[i]
		row := seeds.Row{Values: g.values, Slowdowns: seeds.Pool(g.runs)}
		if first != nil && g != first {
			row.Ratios = map[string]map[string]seeds.Interval{}
			for k := range row.Slowdowns {
				workload := row.Slowdowns[k].Workload
				row.Ratios[workload] = seeds.Ratios(seeds.Paired(first.runs, g.runs), workload)
			}
		}
		var parts []string
		for _, k := range l.varied() {
			parts = append(parts, inLegend(l.Axes[k].Path, g.values[k]))
		}
		for k := range row.Slowdowns {
			s := &row.Slowdowns[k]
			if curves[s.Workload] == nil {
				order = append(order, s.Workload)
			}
			name := fmt.Sprintf("%s, %d flows", strings.Join(parts, ", "), s.Flows)
			if s.Open > 0 {
				name += fmt.Sprintf(", %d open", s.Open)
			}
			curves[s.Workload] = append(curves[s.Workload], summary.SlowdownCurve{Name: strings.TrimPrefix(name, ", "), Of: s, Figure: "p99"})
		}
		rows = append(rows, row)
	}
	if order == nil {
		return nil
	}
	var all plot.Stack
	for _, w := range order {
		if f := summary.PooledFigure(fmt.Sprintf("%s: p99 of the slowdown of %s over the size of flows", l.Scenario, w), curves[w]); f != nil {
			f.Subtitle = fmt.Sprintf("flows of %d seeds together, with 95 %% confidence intervals", l.Seeds)
			f.Caption = l.caption()
			all = append(all, f)
		}
	}
	err := d.Write(seeds.TableFile, func(w io.Writer) error { return seeds.WriteTable(w, heads, rows) })
	if err == nil && all != nil {
		err = style.Files(slowdownsFile, all, d.Write)
	}
	return err
}
