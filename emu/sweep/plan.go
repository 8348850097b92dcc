package sweep

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/metrics"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// MaxCells is how many cells a sweep may have unless the plan says that it means it.
const MaxCells = 1000

// Axis is a field that is varied, and its values.
type Axis struct {
	Path   string   `json:"path"`   // as --set has it: defaults.link.buffer
	Values []string `json:"values"` // as --set has them: 2packets
}

// ParseAxis reads an axis as a command line has it: PATH=VALUE,VALUE,... With a single
// value it is no axis but a set, which the caller may tell by len(Values).
func ParseAxis(text string) (Axis, error) {
	set, err := scenario.ParseSet(text)
	if err != nil {
		return Axis{}, err
	}
	a := Axis{Path: set.Path}
	for v := range strings.SplitSeq(set.Value, ",") {
		v = strings.TrimSpace(v)
		if v == "" {
			return Axis{}, fmt.Errorf("--set %s: one of the values is empty", text)
		}
		if slices.Contains(a.Values, v) {
			return Axis{}, fmt.Errorf("--set %s: %s stands there twice", text, v)
		}
		a.Values = append(a.Values, v)
	}
	return a, nil
}

// Plan says what a sweep does. It is written to sweep.json.
type Plan struct {
	Fabemu   string   `json:"fabemu"`   // version of the program
	Scenario string   `json:"scenario"` // name, or path of a file
	Axes     []Axis   `json:"axes"`     // all that is set, single values too
	Metrics  []string `json:"metrics"`  // expressions; none: the checks of the scenario
	FromPs   int64    `json:"from_ps"`  // what the metrics are taken over; both 0: after the first fifth
	ToPs     int64    `json:"to_ps"`
	Clock    string   `json:"clock"`
	Link     string   `json:"link,omitempty"` // wall clock
	Resolved string   `json:"resolved"`       // the scenario of the first cell: it must not have changed
	Large    bool     `json:"-"`              // more than MaxCells are meant
}

// cell is one combination.
type cell struct {
	number   int // from 1
	values   []string
	scenario *scenario.Scenario
}

// cells returns all combinations, with their scenarios. All mistakes are reported at
// once, each kind of them for the first cell that has it.
func (p *Plan) cells() ([]*cell, error) {
	n := 1
	for _, a := range p.Axes {
		if len(a.Values) == 0 {
			return nil, fmt.Errorf("%s is to be varied, but over no value", a.Path)
		}
		if n *= len(a.Values); n > 1<<20 {
			return nil, fmt.Errorf("the sweep has more than %d cells", 1<<20)
		}
	}
	if n > MaxCells && !p.Large {
		return nil, fmt.Errorf("the sweep has %d cells, which is more than %d: say --force if you mean it", n, MaxCells)
	}
	var all []*cell
	var wrong []error
	said := make(map[string]bool)
	for i := range n {
		c := &cell{number: i + 1, values: make([]string, len(p.Axes))}
		sets := make([]scenario.Set, len(p.Axes))
		for k, rest := len(p.Axes)-1, i; k >= 0; k-- {
			values := p.Axes[k].Values
			c.values[k] = values[rest%len(values)]
			rest /= len(values)
			sets[k] = scenario.Set{Path: p.Axes[k].Path, Value: c.values[k]}
		}
		var err error
		if c.scenario, err = emu.Open(p.Scenario, sets...); err == nil {
			err = p.check(c.scenario)
		}
		if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			wrong = append(wrong, err)
		}
		all = append(all, c)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	resolved, err := all[0].scenario.Resolved()
	if err != nil {
		return nil, err
	}
	p.Resolved = string(resolved)
	return all, nil
}

// check says whether what is to be measured is in a scenario.
func (p *Plan) check(s *scenario.Scenario) error {
	f, err := emu.Prepare(s)
	if err != nil {
		return err
	}
	for _, m := range p.Metrics {
		if _, err := metrics.Compile(m, f); err != nil {
			return fmt.Errorf("--metric %s: %w", m, err)
		}
	}
	if len(p.Metrics) == 0 && len(s.Expect) == 0 {
		return fmt.Errorf("%s has no checks: say what to measure with --metric", s.Name)
	}
	if p.ToPs > int64(s.Model.Duration) {
		return fmt.Errorf("what is measured goes on until %v, but the run ends at %v", unit.Time(p.ToPs), s.Model.Duration)
	}
	return nil
}

// during returns what the metrics are taken over in a scenario.
func (p *Plan) during(s *scenario.Scenario) (from, to unit.Time) {
	if p.ToPs == 0 {
		return unit.Time(s.Model.Duration / 5), unit.Time(s.Model.Duration)
	}
	return unit.Time(p.FromPs), unit.Time(p.ToPs)
}

// same says in what two plans differ, or nothing.
func (p *Plan) same(o *Plan) error {
	var parts []string
	if p.Fabemu != o.Fabemu {
		parts = append(parts, fmt.Sprintf("it was begun by version %s of this program", o.Fabemu))
	}
	if p.Scenario != o.Scenario {
		parts = append(parts, "its scenario is "+o.Scenario)
	} else if p.Resolved != o.Resolved {
		parts = append(parts, "the scenario has changed since")
	}
	equal := func(a, b Axis) bool { return a.Path == b.Path && slices.Equal(a.Values, b.Values) }
	if !slices.EqualFunc(p.Axes, o.Axes, equal) {
		parts = append(parts, fmt.Sprintf("it sets %v", o.Axes))
	}
	if !slices.Equal(p.Metrics, o.Metrics) || p.FromPs != o.FromPs || p.ToPs != o.ToPs {
		parts = append(parts, "it measures something else")
	}
	if p.Clock != o.Clock || p.Link != o.Link {
		parts = append(parts, "it is on the "+o.Clock+" clock")
	}
	if len(parts) == 0 {
		return nil
	}
	return errors.New(strings.Join(parts, "; "))
}

// String prints an axis as ParseAxis reads it.
func (a Axis) String() string { return a.Path + "=" + strings.Join(a.Values, ",") }
