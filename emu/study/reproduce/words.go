package reproduce

import (
	"cmp"
	"embed"
	"fmt"
	"math"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"

	"fabemu/emu"
	"fabemu/emu/report/plot"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// The words of the papers: PAPER.md introduces the figures, and PAPER.yaml has their captions, plots,
// claims and tables.
//
//go:embed words/*.md words/*.yaml
var wordFiles embed.FS

// oldFigureWords is a figure in PAPER.yaml.
type oldFigureWords struct {
	Checks  []string // scenarios whose claims are the figure's
	Caption string
	Claims  map[string]claimWords // by ID
}

// positive is the low end of a range in which something is larger than something else.
const positive = math.SmallestNonzeroFloat64

// none is the high end of a range that has none.
var none = math.Inf(1)

// worded gives a paper its words. The words of its figures are read with the first.
func worded(p *Paper) *Paper {
	words := sync.OnceValue(func() map[string]oldFigureWords {
		var all map[string]oldFigureWords
		if err := yaml.Load([]byte(read(p.Name+".yaml")), &all, yaml.WithKnownFields()); err != nil {
			panic("reproduce: " + p.Name + ": " + err.Error()) // a file of ours
		}
		return all
	})
	for i := range p.Figures {
		p.Figures[i].oldWords, p.Figures[i].units = words, p.units
	}
	return p
}

// read returns a file of words.
func read(name string) string {
	b, err := wordFiles.ReadFile("words/" + name)
	if err != nil {
		panic("reproduce: " + err.Error()) // a file of ours
	}
	return string(b)
}

// oldWhole makes the plots, claims and table of a figure that is described in Go.
func (f *Figure) oldWhole() {
	if f.describe == nil {
		return
	}
	words, describe := f.oldWords()[f.Name], f.describe
	f.Caption, f.describe = words.Caption, nil
	f.oldChecks(words.Checks...)
	describe(f)
}

// said returns the words of the figure's claims; nil where it has none.
func (f *Figure) said() map[string]claimWords {
	if f.oldWords == nil {
		return nil
	}
	return f.oldWords()[f.Name].Claims
}

// checks takes over the claims that stand in scenarios.
func (f *Figure) oldChecks(names ...string) {
	for _, name := range names {
		for _, c := range must(emu.Open(name)).Expect {
			scale, u := f.units(c.Metric)
			mean := Mean(Run{Scenario: name, Seeds: true}, c.Metric, unit.Time(c.During[0]), unit.Time(c.During[1]))
			c.Low, c.High = c.Low*scale, c.High*scale
			words := f.said()[c.ID]
			if words.Null.Value != nil {
				words.Null.Value = new(*words.Null.Value * scale)
			}
			c.Reason = cmp.Or(words.Reason, c.Reason)
			f.Claims = append(f.Claims, Claim{Check: c, Unit: u, Value: scaled(mean, scale), Null: words.Null}.near(words.Near))
		}
	}
}

// claim adds a claim of the figure's words with its value. In the words, and in the ID, {key}
// stands for the value that follows key in with. Words under the ID that comes of
// that go before words under the ID with keys.
func (f *Figure) claim(id string, value Quantity, with ...any) {
	words, found := f.said()[id]
	if !found {
		panic("reproduce: there are no words for " + f.Name + ": " + id) // a test makes all figures
	}
	var pairs []string
	for i := 0; i < len(with); i += 2 {
		pairs = append(pairs, fmt.Sprintf("{%v}", with[i]), fmt.Sprint(with[i+1]))
	}
	say := strings.NewReplacer(pairs...).Replace
	c := Claim{Value: value, Unit: words.Unit}
	c.ID, c.Basis, c.Source, c.Claim, c.From = say(id), words.Basis, words.Source, say(words.Claim), words.From
	c.Metric, c.Why = say(words.Metric), say(words.Why)
	c.Low, c.High = words.bounds()
	c.Reason = cmp.Or(f.said()[c.ID].Reason, words.Reason)
	if c.Null = words.Null; f.said()[c.ID].Null.given() {
		c.Null = f.said()[c.ID].Null
	}
	f.Claims = append(f.Claims, c.near(words.Near || f.said()[c.ID].Near))
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
	Level       *struct {
		Name string
		At   float64
	}
	References []plot.Reference
	Panels     bool
	Curves     []curveWords
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
// are the keys of expect in a scenario, with Above or Below in place of an end of the range that the
// value may not reach. Without High the range has no end. A row without a value is about a claim
// that stands in a scenario, or about one item of another row: it has Near, the null result, the unit,
// and why the claim differs over the seeds where the scenario's own seed does not.
type claimWords struct {
	ID                  string
	Each                any
	If                  string   // a condition on the item
	Checks              []string // in place of all others: scenarios whose claims stand here
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
	Near                bool // of a bound: three times as many seeds
	Null                Null `yaml:"null-result"`
}

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
		p.About = strings.Replace(read(x.Name+".md"), "{presets}", presetTable(x.Name), 1)
		words := sync.OnceValue(func() *paperWords {
			w := &paperWords{Queues: x.Queues}
			load(x.Name+".yaml", w)
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

// load reads a file of words.
func load(name string, to any) {
	if err := yaml.Load([]byte(read(name)), to, yaml.WithKnownFields()); err != nil {
		panic("reproduce: " + name + ": " + err.Error()) // a file of ours
	}
}
