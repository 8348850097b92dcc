package papers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/spelling"
	"fabemu/emu/result/plot"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// Paper is a document whose figures can be had again.
type Paper struct {
	Name    string // "hpl2002"
	Title   string
	Source  string // authors, number, year
	About   string // an introduction to the figures, as Markdown; may be empty
	Figures []Figure
}

// Figure is a figure of a paper, or a footnote, or another question that its
// statements raise.
type Figure struct {
	Name    string // "fig4a"
	Source  string // "Fig. 4(a)"
	Title   string
	Caption string // the runs, the curves, and definitions of measurements
	Plots   []Plot
	Claims  []Claim
	Table   *Table
	Matrix  *Matrix

	words func() *paperWords // with the caption, plots, claims and table; nil: they are there
}

// pictureName returns the name of the file of a plot, without a suffix.
func (f *Figure) pictureName(x *Plot) string { return cmp.Or(x.Name, f.Name) }

// Plot is a picture of a figure: curves.
type Plot struct {
	Name       string // of its file; empty: the figure's
	Title      string // empty: the figure's
	X, Y       plot.Axis
	Curves     []Curve
	References []plot.Reference
	Panels     bool     // each curve in its own frame
	Fabrics    *Fabrics // pictures of a leaf-spine in place of curves; Y is what its links have
}

// Fabrics are pictures of one leaf-spine.
type Fabrics struct {
	Most    float64
	Columns int
	Panels  []FabricPanel
}

// FabricPanel is one of them.
type FabricPanel struct {
	Name     string
	Up, Down []Quantity   // by spine: of the links from the left leaf, and to the right one
	Labels   []FabricNote // of the spines, or none
	Notes    []FabricNote
}

// FabricNote is a line below one: a text with a value.
type FabricNote struct {
	Format string // such as "stopped: %.0f of 16"
	Value  Quantity
}

// Curve is a curve of a plot: either points, each a quantity, or the course of one
// metric over the model time of a run, or a solution of equations. On the picture values are
// multiplied by Scale, unless it is zero.
type Curve struct {
	Name   string
	Scale  float64
	Points []Point
	Course *Course
	Solved func() (x, y []float64)
}

// Point is a point with its own measurement.
type Point struct {
	X float64
	Y Quantity
}

// must returns a value that was computed without an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic("reproduce: " + err.Error()) // equations of ours
	}
	return v
}

// Course is how a metric of a run went: its mean over a sliding window of the
// scenario's measure.window, centred on each point.
type Course struct {
	Run    Run
	Metric string
}

// Claim is a statement of a paper, or one of ours, about a quantity of several runs. The Metric
// of its Check is that quantity in words, or as a metric; its Low and High may be infinities.
type Claim struct {
	scenario.Check
	Value Quantity
	Unit  Unit
	Null  Null
	Near  bool // it is measured over more seeds, as claims are whose mean is near a bound

	Above, Below bool // the low end, or the high end, is not in the range: Low is just above it, High just below

	nothing *Quantity // measured for the null result; nil: nothing is
}

// Unit is the unit in which a value is printed.
type Unit string

// The units.
const (
	Percent      Unit = "%"    // of a share of 1
	Points       Unit = "pt"   // percentage points, of a difference of shares
	Plain        Unit = ""     // a number
	Milliseconds Unit = "ms"   // of model time, of a value in seconds
	Kilobytes    Unit = "KB"   // of a value in bytes
	Gigabits     Unit = "Gb/s" // of a value in bytes per second
)

const gbps = 8e-9 // Gb/s of bytes per second

// scale is the factor of a value that is printed in the unit.
func (u Unit) scale() float64 {
	switch u {
	case Percent, Points:
		return 100
	case Milliseconds:
		return 1e3
	case Kilobytes:
		return 1e-3
	case Gigabits:
		return gbps
	}
	return 1
}

// plain is the unit of a value without its factor; empty for a number.
func (u Unit) plain() string {
	return map[Unit]string{Milliseconds: "s", Kilobytes: "B", Gigabits: "B/s"}[u]
}

// Table shows which statements hold under which choices.
type Table struct {
	Title   string
	Columns []string // the choices
	Rows    []Row
	Note    string
}

// Row is a statement under each of the choices.
type Row struct {
	Claim Claim      // without its Value
	Cells []Quantity // by column
}

// Papers returns the papers whose figures can be had again. It does not read plots and claims of
// figures: Find and Do read them.
func Papers() []*Paper {
	tables := scenario.BuiltIn()
	read := papers()
	return []*Paper{
		read["hpl2002"], read["qcn"], read["bcn"], read["e2cm"], read["cca"], read["dcqcn"], read["timely"],
		read["swift"], read["hpcc"], read["htsim"], read["uet"], read["tcp-red"], read["workloads"], read["pfc"], read["cbfc"],
		read["llr"], read["links"], read["paths"],
		compareSchemes(&tables, false), compareSchemes(&tables, true),
	}
}

// Find finds figures by name: all of a paper ("hpl2002"), or one ("hpl2002/fig4a").
// For another name the error, an *emu.Mistake, lists the names, the near ones
// first.
func Find(name string) (*Paper, []*Figure, error) {
	paper, rest, one := strings.Cut(name, "/")
	papers := Papers()
	i := slices.IndexFunc(papers, func(p *Paper) bool { return p.Name == paper })
	if i < 0 {
		var names []string
		for _, p := range papers {
			names = append(names, p.Name)
			for _, f := range p.Figures {
				if f.Name == name { // a figure without its paper
					return nil, nil, &emu.Mistake{Err: fmt.Errorf("there is no paper named %q; the figure is %s/%s", name, p.Name, name)}
				}
			}
		}
		return nil, nil, &emu.Mistake{Err: fmt.Errorf("there is no paper named %q%s: there are %s", paper, spelling.DidYouMean(spelling.Nearest(paper, names)), strings.Join(names, ", "))}
	}
	p := papers[i]
	var figures []*Figure
	var names []string
	for k := range p.Figures {
		names = append(names, p.Figures[k].Name)
		if !one || p.Figures[k].Name == rest {
			p.Figures[k].whole()
			figures = append(figures, &p.Figures[k])
		}
	}
	if figures == nil {
		return nil, nil, &emu.Mistake{Err: fmt.Errorf("%s has no figure named %q%s: it has %s", p.Name, rest, spelling.DidYouMean(spelling.Nearest(rest, names)), strings.Join(spelling.ByNearness(rest, names), ", "))}
	}
	return p, figures, nil
}

const ms = unit.Time(unit.Millisecond)
