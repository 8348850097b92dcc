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
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// The words of the papers: PAPER.md is what a reader should know before the figures, and
// PAPER.yaml has the caption of each figure and its claims.
//
//go:embed words/*.md words/*.yaml
var wordFiles embed.FS

// figureWords is a figure in PAPER.yaml.
type figureWords struct {
	Checks  []string // scenarios whose claims are the figure's
	Caption string
	Claims  map[string]claimWords // by ID
}

// claimWords is a claim in PAPER.yaml: its keys are those of expect in a scenario, with Above
// or Below in place of an end of the range that the value may not reach. Without High the
// range has no end. A claim that stands in a scenario has here Near, its null result, and
// why it differs over the seeds where the scenario's own seed does not.
type claimWords struct {
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

// positive is the low end of a range in which something is larger than something else.
const positive = math.SmallestNonzeroFloat64

// none is the high end of a range that has none.
var none = math.Inf(1)

// bounds returns the range.
func (c *claimWords) bounds() (low, high float64) {
	high = none
	if c.High != nil {
		high = *c.High
	}
	switch {
	case c.Above != nil:
		return math.Nextafter(*c.Above, none), high
	case c.Below != nil:
		return -none, math.Nextafter(*c.Below, -none)
	}
	return c.Low, high
}

// worded gives a paper its words. Those of its figures are read when the first is wanted.
func worded(p *Paper) *Paper {
	words := sync.OnceValue(func() map[string]figureWords {
		var all map[string]figureWords
		if err := yaml.Load([]byte(read(p.Name+".yaml")), &all, yaml.WithKnownFields()); err != nil {
			panic("reproduce: " + p.Name + ": " + err.Error()) // a file of ours
		}
		return all
	})
	for i := range p.Figures {
		p.Figures[i].words, p.Figures[i].units = words, p.units
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

// whole makes what a figure shows and claims, which takes reading words and scenarios: that
// is done where figures are found, or run.
func (f *Figure) whole() {
	if f.describe == nil {
		return
	}
	words, describe := f.words()[f.Name], f.describe
	f.Caption, f.describe = words.Caption, nil
	f.checks(words.Checks...)
	describe(f)
}

// said are the words of the figure's claims; nil where it has none.
func (f *Figure) said() map[string]claimWords {
	if f.words == nil {
		return nil
	}
	return f.words()[f.Name].Claims
}

// checks takes over the claims that stand in scenarios.
func (f *Figure) checks(names ...string) {
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
			f.Claims = append(f.Claims, words.near(Claim{Check: c, Unit: u, Value: scaled(mean, scale), Null: words.Null}))
		}
	}
}

// queuesIn returns the units of the claims of Ethernet, with queues in one of which a byte is so
// many.
func queuesIn(queues float64) func(metric string) (scale float64, u Unit) {
	return func(metric string) (scale float64, u Unit) {
		switch u := unitOf(metric); {
		case strings.Contains(metric, " / "):
			return 1, Plain
		case u.Time > 0:
			return 1, Milliseconds
		case u.Time < 0:
			return 1, Gigabits
		case u.Word == metrics.Sizes().Word:
			return queues, Plain
		case u.Word == metrics.Share().Word:
			return 1, Percent
		}
		return 1, Plain
	}
}

// claim adds a claim of the figure's words with its value. In the words, and in the ID, {key}
// stands for the value that follows key in with. What the words have under the ID that comes
// of that goes before what they have under the ID with keys.
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
	words.Near = words.Near || f.said()[c.ID].Near
	f.Claims = append(f.Claims, words.near(c))
}

// printed adds a claim about a figure that the source prints, as claim does. A fifth less or a
// quarter more is accepted, which the words give the reason for.
func (f *Figure) printed(id string, value Quantity, says float64, with ...any) {
	f.claim(id, value, with...)
	c := &f.Claims[len(f.Claims)-1]
	c.Low, c.High = says/1.25, says*1.25
}

// near has a claim that is near a bound of its range measured with more seeds.
func (w *claimWords) near(c Claim) Claim {
	if w.Near {
		c.Value = c.Value.with(func(r Run) Run {
			r.Near = r.Seeds
			return r
		})
	}
	return c
}
