package papers

import (
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"fabemu/emu/result/plot"
	"fabemu/emu/scenario"
)

// The words of the papers: PAPER.md introduces the figures, and PAPER.yaml has their captions,
// plots, claims and tables.
//
//go:embed words/*.md words/*.yaml
var wordFiles embed.FS

// positive is the low end of a range in which something is larger than something else.
const positive = math.SmallestNonzeroFloat64

// none is the high end of a range that has none.
var none = math.Inf(1)

// read returns a file of words.
func read(name string) string {
	b, err := wordFiles.ReadFile("words/" + name)
	if err != nil {
		panic("reproduce: " + err.Error()) // a file of ours
	}
	return string(b)
}

// paperWords is the content of PAPER.yaml.
type paperWords struct {
	Define  map[string]any // names in the expressions of the paper
	Figures map[string]figureWords

	Queues   float64 `yaml:"-"` // bytes in the unit of the paper's queues; 0: 1
	language *language
}

// figureWords is a figure in PAPER.yaml.
type figureWords struct {
	Caption string
	Plots   []plotWords
	Claims  []claimWords // in their order
	Table   *tableWords
}

// plotWords is a picture, or several: one for each item.
type plotWords struct {
	Each        any
	Name, Title string
	X, Y        plot.Axis // without a label X is the model time in ms
	References  []plot.Reference
	Panels      bool
	Curves      []curveWords
	Fabrics     *fabricsWords // in place of curves
}

// fabricsWords are pictures of a leaf-spine (plot.Fabrics). Quantity is what the links have.
type fabricsWords struct {
	Quantity string
	Most     float64
	Columns  int
	Panels   []panelWords
}

// panelWords is such a picture, or several: Up and Down are taken for each value x of a list, a
// spine each.
type panelWords struct {
	Each           any
	Name           string
	Over, Up, Down string
	Label          *noteWords // of each spine
	Notes          []noteWords
}

// curveWords is a curve, or several: the course of the metric of a run; or points over the values
// of a list, each at X with a quantity of runs (Y) or a computed one; or a solution of equations.
type curveWords struct {
	Each        any
	Name        string
	Run, Metric string
	Over        string // a list
	X, Y        string // X is x, the value of the list, where it is left out
	Computed    string
	Solved      string
	Scale       string // without one a course has the scale of the axis, and points have 1
}

// tableWords is a table of choices. With items each column stands for one item, and a row has one
// value for all columns; else it has its cells.
type tableWords struct {
	Title, Note string
	Each        any
	Columns     []string
	Rows        []claimWords
}

// claimWords is a claim in PAPER.yaml, or several: one for each item, or a row of a table. Its keys
// are the keys of expect in a scenario, with Above or Below instead of an end of the range that the
// value may not reach. Without High the range has no end. A row without a value is about a claim
// that is in a scenario, or about one item of another row: it has Near, the null result, the unit,
// and why the claim differs over the seeds where the scenario's own seed does not.
type claimWords struct {
	ID                  string
	Each                any
	If                  string   // a condition on the item
	Checks              []string // in place of all others: scenarios whose claims are here
	Value               string
	Printed             string   // the figure that the source prints: a fifth less or a quarter more is accepted
	Cells               []string // of a row of a table
	Basis               scenario.Basis
	Source, Claim, From string
	Metric              string
	Unit                Unit
	Low                 float64
	High, Above, Below  *float64
	Why, Reason         string
	Near                bool // of a bound: more seeds, although it is known to differ
	Null                Null `yaml:"null-result"`
}

// noteWords is a text with a value.
type noteWords struct{ Format, Value string }

// solution is a solution of equations: model times in ms, values.
type solution = func() (x, y []float64)

// index is a paper in papers.yaml.
type index struct {
	Name, Title, Source string
	Queues              float64
	Figures             []struct{ Name, Source, Title string }
}

// papers returns the papers of papers.yaml by name. The words of a paper are read with its first
// figure.
func papers() map[string]*Paper {
	var list []index
	load("papers.yaml", &list)
	all := map[string]*Paper{}
	for _, x := range list {
		p := &Paper{Name: x.Name, Title: x.Title, Source: x.Source}
		if about, err := wordFiles.ReadFile("words/" + x.Name + ".md"); err == nil { // a paper need not have one
			p.About = strings.Replace(string(about), "{presets}", presetTable(x.Name), 1)
		}
		words := sync.OnceValue(func() *paperWords {
			w := &paperWords{Queues: x.Queues}
			load(x.Name+".yaml", w)
			if err := x.matches(w); err != nil {
				panic("reproduce: " + err.Error()) // a file of ours
			}
			w.language = newLanguage(w.Define)
			return w
		})
		for _, f := range x.Figures {
			p.Figures = append(p.Figures, Figure{Name: f.Name, Source: f.Source, Title: f.Title, words: words})
		}
		all[p.Name] = p
	}
	return all
}

// matches reports a figure that only one of papers.yaml and the words of the paper has.
func (x *index) matches(w *paperWords) error {
	listed := map[string]bool{}
	for _, f := range x.Figures {
		listed[f.Name] = true
		if _, ok := w.Figures[f.Name]; !ok {
			return fmt.Errorf("papers.yaml: figure %s of %s is not under figures in %[2]s.yaml", f.Name, x.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Figures)) {
		if !listed[name] {
			return fmt.Errorf("%s.yaml: figure %s is not listed in papers.yaml, under figures of %[1]s", x.Name, name)
		}
	}
	return nil
}

// load reads a file of words.
func load(name string, to any) {
	if err := yaml.Load([]byte(read(name)), to, yaml.WithKnownFields()); err != nil {
		panic("reproduce: " + name + ": " + err.Error()) // a file of ours
	}
}
