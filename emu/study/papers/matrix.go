package papers

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu"
	"fabemu/emu/result/report"
	"fabemu/emu/study/campaign"
	"fabemu/wire/unit"
)

// Matrix compares things: each has a row of measurements.
type Matrix struct {
	Columns  []Column
	Rows     []MatrixRow
	Overview int // the column by which the rows are ranked in an overview, if it has a Best
	// OverviewSays describes the column in the overview; empty: its name does.
	OverviewSays string
}

// Column is a measurement that each row has, or gives a reason for its absence.
type Column struct {
	Name  string `json:"name"`
	Unit  Unit   `json:"unit"`
	Says  string `json:"says"`  // its description
	Never bool   `json:"never"` // without a value it was not reached
	Best  Best   `json:"best,omitempty"`
}

// Best orders the values of a column from good to bad; empty: there is no order.
type Best string

// The ways to be better.
const (
	Most  Best = "most"
	Least Best = "least"
	Whole Best = "nearest to 100 %"
)

// MatrixRow is one of the things.
type MatrixRow struct {
	Kind  string // of the thing: "Ethernet"
	Name  string
	Cells []Cell // by column
}

// Cell is a figure of a row: a metric over an interval of a run, or a quantity, or nothing.
type Cell struct {
	Run    Run
	Metric string
	During [2]unit.Time
	Value  Quantity
	Absent string // why there is none
}

// MatrixResult is a Matrix with its values.
type MatrixResult struct {
	Columns  []Column          `json:"columns"`
	Rows     []MatrixRowResult `json:"rows"`
	Overview int               `json:"overview"` // the column of the overview, where it has a best

	OverviewSays string `json:"overview_says,omitempty"`
}

type MatrixRowResult struct {
	Kind    string       `json:"kind"`
	Name    string       `json:"name"`
	Command string       `json:"command"` // that repeats the row, without the metrics; empty: it was not run
	Cells   []CellResult `json:"cells"`
}

// CellResult is a mean over seeds.
type CellResult struct {
	Value    report.Number `json:"value"`              // shares 0 to 1, times in seconds, sizes in bytes; null: there is none
	Interval report.Number `json:"interval"`           // half of the 95 % confidence interval of the mean; null: of a single value
	Seeds    int           `json:"seeds"`              // that have a value
	Missing  int           `json:"missing"`            // that have none
	Reason   string        `json:"reason,omitempty"`   // why there is none
	Measured string        `json:"measured,omitempty"` // by fabemu sweep: the rest of the command
	column   *Column
}

// matrix puts a matrix together.
func (b *batch) matrix(f string, m *Matrix) *MatrixResult {
	out := &MatrixResult{Columns: m.Columns, Overview: m.Overview, OverviewSays: m.OverviewSays}
	for _, row := range m.Rows {
		r := MatrixRowResult{Kind: row.Kind, Name: row.Name}
		for i := range row.Cells {
			c := &row.Cells[i]
			if c.Metric != "" && r.Command == "" {
				r.Command = b.command(c.Run)
			}
			r.Cells = append(r.Cells, b.cell(c, &m.Columns[i], strings.Join([]string{f, row.Kind, row.Name, m.Columns[i].Name}, " ")))
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// cell takes the mean of the seeds that have a value.
func (b *batch) cell(c *Cell, column *Column, name string) CellResult {
	out := CellResult{Value: report.Missing(), Interval: report.Missing(), Reason: c.Absent, column: column}
	if c.Absent != "" {
		return out
	}
	e := report.EstimateOf(b.bySeed(&c.Value))
	out.Value, out.Interval, out.Seeds, out.Missing = e.Mean, e.Interval, e.Values, e.Missing
	if c.Metric != "" {
		out.Measured = fmt.Sprintf("--metric %s --during %v,%v --out results/%s", campaign.Quote(c.Metric), unit.Duration(c.During[0]), unit.Duration(c.During[1]), fileOf(name))
	}
	switch {
	case e.Values > 0:
	case b.partial:
		out.Reason = "it was not run to its end"
	case column.Never:
		out.Reason = fmt.Sprintf("not within the %v that were measured", c.During[1].Sub(c.During[0]))
	default:
		out.Reason = "nothing was there to measure"
	}
	return out
}

// command returns the command of fabemu that repeats a run with all its seeds.
func (b *batch) command(r Run) string {
	words := []string{"fabemu", "sweep", r.Scenario}
	if r.Short {
		words = append(words, "--short")
	}
	sets := r.Sets
	if b.options.Clock == emu.WallClock {
		words = append(words, "--clock", "wall")
		if b.options.Dilation > 0 {
			sets = append(sets[:len(sets):len(sets)], fmt.Sprint("wall.dilation=", b.options.Dilation))
		}
	}
	seeds := make([]string, b.seeds)
	for i := range seeds {
		seeds[i] = strconv.Itoa(i + 1)
	}
	for _, s := range append(sets[:len(sets):len(sets)], "model.seed="+strings.Join(seeds, ",")) {
		words = append(words, "--set", s)
	}
	return campaign.Quote(words...)
}

// fileOf makes a file's name of words.
func fileOf(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// String prints a cell: the mean and half of its interval, in the unit of the column.
func (c *CellResult) String() string {
	return strings.Join(append([]string{c.Mean()}, c.beside()...), " ")
}

// never is the value of a cell that no seed has reached.
const never = "never"

// Mean prints the mean, in the unit of the column.
func (c *CellResult) Mean() string {
	switch {
	case c.Value.Known():
		return digits(c.column.Unit.scale()*float64(c.Value), 3)
	case c.Seeds+c.Missing == 0:
		return "—"
	case c.column.Never && c.Missing > 0:
		return never
	}
	return "undefined"
}

// Beside prints the notes next to the mean.
func (c *CellResult) Beside() string { return strings.Join(c.beside(), " ") }

// beside returns the notes in addition to the mean: half of its interval, unless it is 0, and the
// number of seeds that have a value, unless all have.
func (c *CellResult) beside() (words []string) {
	scale := c.column.Unit.scale()
	half := scale * float64(c.Interval)
	if c.Interval.Known() && half > 1e-6*math.Abs(scale*float64(c.Value)) { // beyond the rounding of floats
		if half := digits(half, 2); half != "0" {
			words = append(words, "± "+half)
		}
	}
	if c.Value.Known() && c.Missing > 0 {
		words = append(words, fmt.Sprintf("(%d of %d)", c.Seeds, c.Seeds+c.Missing))
	}
	return words
}

// Title is the name of a column with its unit.
func (c *Column) Title() string {
	if c.Unit == Plain {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Name, c.Unit)
}

// remarks describe the columns, and why cells have no value, each reason once.
func (m *MatrixResult) remarks() (list []string) {
	for _, c := range m.Columns {
		if c.Says != "" {
			list = append(list, fmt.Sprintf("%s: %s", c.Name, c.Says))
		}
	}
	for i := range m.Columns {
		all := len(m.Rows) > 0
		for _, row := range m.Rows {
			all = all && row.Cells[i].String() == "—" && row.Cells[i].Reason == m.Rows[0].Cells[i].Reason
		}
		if all {
			list = append(list, fmt.Sprintf("No %s: %s.", m.Columns[i].Name, m.Rows[0].Cells[i].Reason))
		}
	}
	for _, row := range m.Rows {
		if row.Command == "" { // it was not run
			k := slices.IndexFunc(row.Cells, func(c CellResult) bool { return c.Reason != "" })
			list = append(list, fmt.Sprintf("The row %q: %s.", row.Name, row.Cells[k].Reason))
		}
	}
	return list
}

// matrices are the figures that have one.
func (r *Result) matrices() []*FigureResult {
	var all []*FigureResult
	for i := range r.Figures {
		if r.Figures[i].Matrix != nil {
			all = append(all, &r.Figures[i])
		}
	}
	return all
}

// WriteMatrix writes the cells of all figures that have a matrix as CSV, a row each.
func (r *Result) WriteMatrix(w io.Writer) error {
	rows := [][]string{{"figure", "kind", "name", "quantity", "unit", "value", "interval", "seeds", "missing", "reason", "command"}}
	for _, f := range r.matrices() {
		for i := range f.Matrix.Rows {
			row := &f.Matrix.Rows[i]
			for k := range row.Cells {
				c, command := &row.Cells[k], ""
				if c.Measured != "" {
					command = row.Command + " " + c.Measured
				}
				rows = append(rows, []string{f.Name, row.Kind, row.Name, f.Matrix.Columns[k].Name, cmp.Or(f.Matrix.Columns[k].Unit.plain(), "1"),
					c.Value.Cell(figureDigits), c.Interval.Cell(figureDigits), strconv.Itoa(c.Seeds), strconv.Itoa(c.Missing), c.Reason, command})
			}
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
