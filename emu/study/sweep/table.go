package sweep

import (
	"encoding/csv"
	"io"
	"strconv"

	"fabemu/emu/report"
)

// column is a figure that some cells have.
type column struct {
	name   string
	judged bool // it is a check
}

// columns lists the figures of cells, in the order in which they first come: checks of
// one cell may differ from the checks of the next.
func columns(cells []Cell) []column {
	var list []column
	seen := make(map[string]bool)
	for _, c := range cells {
		for _, f := range c.Figures {
			if !seen[f.Name] {
				seen[f.Name] = true
				list = append(list, column{f.Name, f.Outcome != ""})
			}
		}
	}
	return list
}

// of returns a figure of a cell; its value is missing if the cell has none of the name.
func (c *Cell) of(name string) Figure {
	for _, f := range c.Figures {
		if f.Name == name {
			return f
		}
	}
	return Figure{Name: name, Value: report.Missing()}
}

// WriteTable writes cells as CSV, a row each: the ID, the values, the level of the
// verdict, and the figures, in bytes per second, seconds, blocks or as shares, as the
// metric has it; one that is undefined is empty. Beside a check stands its outcome, in
// the column "ID outcome".
func WriteTable(w io.Writer, p *Plan, cells []Cell) error {
	out := csv.NewWriter(w)
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
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for i := range cells {
		row := append(append([]string{cells[i].ID}, cells[i].Values...), string(cells[i].Level))
		for _, k := range list {
			f, text := cells[i].of(k.name), ""
			if f.Value.Known() {
				text = strconv.FormatFloat(float64(f.Value), 'g', 8, 64)
			}
			if row = append(row, text); k.judged {
				row = append(row, string(f.Outcome))
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
