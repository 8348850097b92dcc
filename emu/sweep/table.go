package sweep

import (
	"encoding/csv"
	"io"
	"strconv"

	"fabemu/emu/report"
)

// names lists the figures of cells, in the order in which they first come: checks of
// one cell may be others than those of the next.
func names(cells []Cell) []string {
	var list []string
	seen := make(map[string]bool)
	for _, c := range cells {
		for _, f := range c.Figures {
			if !seen[f.Name] {
				seen[f.Name] = true
				list = append(list, f.Name)
			}
		}
	}
	return list
}

// of returns a figure of a cell; missing if it has none of the name.
func (c *Cell) of(name string) report.Number {
	for _, f := range c.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return report.Missing()
}

// WriteTable writes cells as CSV: what was varied, the level of the verdict, and the
// figures; one that is undefined is empty.
func WriteTable(w io.Writer, p *Plan, cells []Cell) error {
	out := csv.NewWriter(w)
	head := make([]string, 0, 8)
	for _, a := range p.Axes {
		head = append(head, a.Path)
	}
	columns := names(cells)
	if err := out.Write(append(append(head, "level"), columns...)); err != nil {
		return err
	}
	for _, c := range cells {
		row := append(append([]string{}, c.Values...), string(c.Level))
		for _, name := range columns {
			text := ""
			if v := c.of(name); v.Known() {
				text = strconv.FormatFloat(float64(v), 'g', 8, 64)
			}
			row = append(row, text)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
