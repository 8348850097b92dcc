package sweep

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"fabemu/emu/result/report"
	"fabemu/emu/result/seeds"
)

// figureDigits is how many digits figures have in tables.
const figureDigits = 8

// column is a figure that some cells have.
type column struct {
	name   string
	judged bool // it is a check
	flows  bool // it is of transfers
}

// columns lists the figures of cells, in the order of first appearance, because the checks of
// one cell may differ from those of the next.
func columns(cells []Cell) []column {
	var list []column
	for _, c := range cells {
		for _, f := range c.Figures {
			k := slices.IndexFunc(list, func(x column) bool { return x.name == f.Name })
			if k < 0 {
				k = len(list)
				list = append(list, column{name: f.Name, judged: f.Outcome != ""})
			}
			list[k].flows = list[k].flows || f.Flows > 0
		}
	}
	return list
}

// of returns a figure of a cell; its value is missing if the cell has no figure with the name.
func (c *Cell) of(name string) seeds.Figure {
	for _, f := range c.Figures {
		if f.Name == name {
			return f
		}
	}
	return seeds.Figure{Name: name, Value: report.Missing()}
}

// WriteTable writes cells as CSV, a row each: the ID, the values, the level of the
// verdict, and the figures in the unit of the metric: bytes per second, seconds, blocks or shares.
// An undefined figure is empty. A check is followed by its outcome, in the column "ID outcome", and
// a figure of transfers by their number, in the column "ID flows".
func WriteTable(w io.Writer, p *Plan, cells []Cell) error {
	head := []string{"cell"}
	for _, a := range p.Axes {
		head = append(head, a.Path)
	}
	head = append(head, "level")
	list := columns(cells)
	for _, k := range list {
		if head = append(head, k.name); k.judged {
			head = append(head, k.name+" outcome")
		}
		if k.flows {
			head = append(head, k.name+" flows")
		}
	}
	rows := [][]string{head}
	for i := range cells {
		row := append(append([]string{cells[i].ID}, cells[i].Values...), string(cells[i].Level))
		for _, k := range list {
			f := cells[i].of(k.name)
			if row = append(row, f.Value.Cell(figureDigits)); k.judged {
				row = append(row, string(f.Outcome))
			}
			if k.flows {
				row = append(row, strconv.Itoa(f.Flows))
			}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// group holds the repetitions of a combination; without seeds, one cell.
type group struct {
	values []string // of the axes that are kept apart
	runs   []seeds.Run
	*seeds.Repetitions
}

// groups returns the groups of cells, in the order of their first cells.
func (p *Plan) groups(cells []Cell) (all []group) {
	values := func(c *Cell) []string { return c.Values[:len(p.apart())] }
	for _, cells := range report.Grouped(cells, func(c *Cell) string { return fmt.Sprintf("%q", values(c)) }) {
		g := group{values: values(&cells[0])}
		for _, c := range cells {
			run := seeds.Run{Void: c.Level == report.Void, Figures: c.Figures, Samples: c.Samples}
			if p.Seeds > 0 {
				run.Seed, _ = strconv.ParseUint(c.Values[len(p.apart())], 10, 64) // as Repeat has it
			}
			g.runs = append(g.runs, run)
		}
		g.Repetitions = seeds.Repeat(g.runs)
		all = append(all, g)
	}
	return all
}

// first returns the group of the first value of each axis, with which the others are compared; nil
// if it is missing, or if there is nothing to compare.
func (p *Plan) first(groups []group) *group {
	if p.Seeds == 0 || len(p.varied()) == 0 || len(groups) == 0 {
		return nil
	}
	for i, a := range p.apart() {
		if groups[0].values[i] != a.Values[0] {
			return nil
		}
	}
	return &groups[0]
}

// WriteMeans writes the means over repetitions as CSV, a row for each combination of the other
// axes: the values, the number of seeds, and for each figure its mean, half of the mean's 95 %
// confidence interval, for a figure of transfers their number in all seeds, and for a check the
// number of seeds that pass it. Then follows how much the figure is above that of the first
// combination, by pairs of runs with one seed, half of the interval of that difference, and whether
// it is an effect (seeds.EffectOf). Void runs do not count.
func WriteMeans(w io.Writer, p *Plan, cells []Cell) error {
	var head []string
	for _, a := range p.apart() {
		head = append(head, a.Path)
	}
	head = append(head, "seeds")
	list, compared := columns(cells), len(p.varied()) > 0
	for _, k := range list {
		if head = append(head, k.name, k.name+" interval"); k.judged {
			head = append(head, k.name+" passed")
		}
		if k.flows {
			head = append(head, k.name+" flows")
		}
		if compared {
			head = append(head, k.name+" paired difference", k.name+" paired interval", k.name+" effect")
		}
	}
	rows := [][]string{head}
	groups := p.groups(cells)
	first := p.first(groups)
	for i := range groups {
		g := &groups[i]
		row := append(slices.Clone(g.values), strconv.Itoa(len(g.runs)))
		for _, k := range list {
			f := g.Find(k.name)
			if row = append(row, f.Mean.Cell(figureDigits), f.Interval.Cell(figureDigits)); k.judged {
				row = append(row, strconv.Itoa(f.Passed))
			}
			if k.flows {
				row = append(row, strconv.Itoa(f.Flows))
			}
			if compared {
				d, effect := report.EstimateOf(nil), ""
				if first != nil && g != first {
					d = seeds.Difference(seeds.Paired(first.runs, g.runs), "", k.name)
					effect = string(seeds.EffectOf(d))
				}
				row = append(row, d.Mean.Cell(figureDigits), d.Interval.Cell(figureDigits), effect)
			}
		}
		rows = append(rows, row)
	}
	return csv.NewWriter(w).WriteAll(rows)
}
