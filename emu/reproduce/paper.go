package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/plot"
	"fabemu/wire/unit"
)

// Paper is a document whose figures can be had again.
type Paper struct {
	Name    string // "hpl2002"
	Title   string
	Source  string // authors, number, year
	Figures []Figure
}

// Figure is a figure of a paper, or a footnote, or another question that its
// statements raise.
type Figure struct {
	Name    string // "fig4a"
	Source  string // "Fig. 4(a)"
	Title   string
	Caption string // what was run and what is drawn; definitions of what is measured
	Plots   []Plot
	Claims  []Claim
	Table   *Table
}

// Plot is a picture of a figure: curves.
type Plot struct {
	Name       string // of its file; empty: the figure's
	Title      string // empty: the figure's
	X, Y       plot.Axis
	Curves     []Curve
	References []plot.Reference
}

// Curve is a curve of a plot: either points, each a quantity, or the course of one
// metric over the model time of a run, or a course that equations say. On the picture values are multiplied by
// Scale, unless it is zero.
type Curve struct {
	Name   string
	Scale  float64
	Points []Point
	Course *Course
	Solved func() (x, y []float64, err error)
}

// Point is a point that is measured by itself.
type Point struct {
	X float64
	Y Quantity
}

// Course is how a metric of a run went: its mean over a sliding window of the
// scenario's measure.window, centred on each point.
type Course struct {
	Run    Run
	Metric string
}

// Claim is a statement of a paper about a quantity.
type Claim struct {
	ID       string
	Source   string // section, figure or footnote
	Says     string // the statement
	Measured string // what the quantity is, in words or as a metric
	Value    Quantity
	Unit     Unit
	Low      float64 // the range in which the statement holds; an infinity where it has no end
	High     float64
	Why      string // why it is that range
	Differs  string // why the statement is known not to come out; empty when it should
}

// Unit says how a value is printed.
type Unit string

// The units.
const (
	Percent      Unit = "%"  // of a share of 1
	Points       Unit = "pt" // percentage points, of a difference of shares
	Plain        Unit = ""   // a number
	Milliseconds Unit = "ms" // of model time, of a value in seconds
)

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

// Papers returns the papers whose figures can be had again.
func Papers() []*Paper { return []*Paper{hpl2002(), qcn()} }

// Find finds figures by name: all of a paper ("hpl2002"), or one ("hpl2002/fig4a").
// For another name the error, an *emu.Mistake, says which there are, the near ones
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
		return nil, nil, &emu.Mistake{Err: fmt.Errorf("there is no paper named %q%s: there are %s", paper, hint(paper, names), strings.Join(names, ", "))}
	}
	p := papers[i]
	var figures []*Figure
	var names []string
	for k := range p.Figures {
		names = append(names, p.Figures[k].Name)
		if !one || p.Figures[k].Name == rest {
			figures = append(figures, &p.Figures[k])
		}
	}
	if figures == nil {
		return nil, nil, &emu.Mistake{Err: fmt.Errorf("%s has no figure named %q%s: it has %s", p.Name, rest, hint(rest, names), strings.Join(byNearness(rest, names), ", "))}
	}
	return p, figures, nil
}

// hint asks whether the nearest of some names was meant, if one is near.
func hint(word string, names []string) string {
	sorted := byNearness(word, names)
	if len(sorted) == 0 || distance(word, sorted[0]) > (len(word)+2)/3 && !strings.HasPrefix(sorted[0], word) || word == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", sorted[0])
}

// byNearness sorts names, those that are most like a word first.
func byNearness(word string, names []string) []string {
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int {
		if d := distance(word, a) - distance(word, b); d != 0 {
			return d
		}
		return begin(word, b) - begin(word, a)
	})
	return sorted
}

// begin is with how many of the same letters two words begin.
func begin(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is how many letters must be changed, added or left out to make b of a
// (Levenshtein), whatever their case.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}

const ms = unit.Time(unit.Millisecond)
