package tune

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/sets"
	"fabemu/emu/study/sweep"
	"fabemu/wire/param"
)

// Plan is the plan of a search.
type Plan struct {
	// Base has the scenario, one value for each setting (Axes), the time of the metric, the clock,
	// and the version of the program.
	Base sweep.Plan
	// The scheme whose parameters are searched, as in fabemu generate --scheme.
	Scheme string `flag:"scheme" group:"Search" arg:"NAME"`
	// The figure to judge by: an expression such as load.slowdown.p99.
	Metric string `flag:"metric" arg:"EXPRESSION"`
	// Search for the highest value of the metric (default: the lowest).
	Highest bool `flag:"highest"`
	// Search this parameter, alone or with others that are given so (repeatable; default: all
	// parameters of the scheme for which sources have a range, or this program one of its own).
	Ranges []string `flag:"range" arg:"PATH=LOW,HIGH" each:"true"`
	// Number of sets of parameters that are tried; the first is that of the source.
	Trials int `flag:"trials" arg:"N" def:"16" low:"2" high:"1024"`
	// Seeds of each trial in the first round; each round after it has half of the trials and about
	// twice the seeds.
	Seeds int `flag:"seeds" arg:"N" def:"1" low:"1" high:"100"`
	// Further seeds on which the best trial is compared with the source.
	Judge int `flag:"judge" arg:"N" def:"10" low:"2" high:"1000"`
	// Seed of the draws of values.
	Seed uint64 `flag:"search-seed" arg:"N" def:"1" low:"0" high:"2147483647"`
}

// Setting is a value of a trial.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// search is a plan with its ranges and trials.
type search struct {
	Plan
	preset scenario.Preset
	ranges []sets.Range
	trials []Trial
	open   func(sets ...scenario.Set) (*scenario.Scenario, error)
	base   []scenario.Set // of the scheme
	given  []scenario.Set // settings of the user, which come last
	opened *scenario.Scenario
}

// section is a part of the defaults that belongs to a scheme, with the parameters of its object.
type section struct {
	path   string
	params any
}

// begin reads the scenario, finds the ranges, and draws the trials. A fault of the plan is a
// *errs.Mistake.
func (p *Plan) begin() (*search, error) {
	s := &search{Plan: *p}
	s.Base.Metrics = []string{p.Metric}
	err := s.check()
	if err == nil {
		err = s.read()
	}
	if err == nil {
		err = s.findRanges()
	}
	if err == nil { // all that may be wrong with a run, before trials are drawn
		_, err = sweep.Cells(s.plan(&stage{[]*Trial{{Number: 1}}, 1, 2}))
	}
	if err == nil {
		err = s.draw()
	}
	if err != nil {
		return nil, &errs.Mistake{Err: err}
	}
	return s, nil
}

// check reports what is wrong with a plan before its scenario is read.
func (p *Plan) check() error {
	var wrong []error
	report := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	report(p.Scheme == "", "a search needs a scheme: pass --scheme, such as --scheme dcqcn")
	report(strings.Contains(strings.ReplaceAll(p.Scheme, ", ", " "), ","), "--scheme %s: a search is of one scheme; call it once for each, and compare the results by fabemu sweep --scheme", p.Scheme)
	report(p.Metric == "", "a search needs a metric to judge by: pass --metric, such as --metric load.slowdown.p99")
	report(p.Trials < 2, "%d trials: at least two are required", p.Trials)
	report(p.Seeds < 1, "%d seeds: at least one is required", p.Seeds)
	report(p.Judge < 2, "%d seeds for the judgement: at least two are required", p.Judge)
	for _, a := range p.Base.Axes {
		report(len(a.Values) != 1, "--set %v: a search takes one value for each field; to search a parameter, pass --range %s=LOW,HIGH", a, a.Path)
		report(a.Path == seedPath, "--set %s: a search chooses the seeds", a.Path)
	}
	return errors.Join(wrong...)
}

// seedPath is the field of the seed of a run.
const seedPath = "model.seed"

// read reads the scenario with the scheme.
func (s *search) read() error {
	open := emu.Open
	if s.Base.Short {
		open = emu.OpenShort
	}
	s.open = func(sets ...scenario.Set) (*scenario.Scenario, error) { return open(s.Base.Scenario, sets...) }
	for _, a := range s.Base.Axes {
		s.given = append(s.given, scenario.Set{Path: a.Path, Value: a.Values[0]})
	}
	plain, err := s.open()
	if err != nil {
		return err
	}
	if s.preset, s.base, err = generate.SchemeOf(s.Scheme, plain); err != nil {
		return err
	}
	s.opened, err = s.open(slices.Concat(s.base, s.given)...)
	return err
}

// sections returns the objects of the scheme in the scenario: its algorithm and its marking.
func (s *search) sections() (all []section) {
	at := slices.IndexFunc(s.opened.Workloads, func(w scenario.Workload) bool { return w.Control.Algorithm == s.preset.Algorithm })
	k := slices.IndexFunc(s.opened.Flows, func(f scenario.Flow) bool { return f.Control.Algorithm == s.preset.Algorithm })
	switch {
	case at >= 0:
		all = append(all, section{"defaults.flow.control", s.opened.Workloads[at].Control.Params})
	case k >= 0:
		all = append(all, section{"defaults.flow.control", s.opened.Flows[k].Control.Params})
	}
	if i := slices.IndexFunc(s.opened.Switches, func(w scenario.Switch) bool { return w.Marking.Scheme == s.preset.Point }); i >= 0 && s.preset.Point != "" {
		all = append(all, section{"defaults.switch.marking", s.opened.Switches[i].Marking.Params})
	}
	return all
}

// findRanges sets the ranges: those that are given, or else all of the scheme.
func (s *search) findRanges() error {
	fixed := func(path string) bool {
		return slices.ContainsFunc(s.given, func(x scenario.Set) bool { return x.Path == path })
	}
	var wrong []error
	for _, text := range s.Ranges {
		r, err := s.givenRange(text)
		switch {
		case err == nil && fixed(r.Path):
			err = fmt.Errorf("--range %s: --set gives it a value", text)
		case err == nil && slices.ContainsFunc(s.ranges, func(x sets.Range) bool { return x.Path == r.Path }):
			err = fmt.Errorf("--range %s: it is given twice", text)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
		s.ranges = append(s.ranges, r)
	}
	if s.Ranges != nil {
		return errors.Join(wrong...)
	}
	place, _ := sets.Of(s.opened)
	for _, c := range s.sections() {
		for _, r := range place.Ranges(c.path, c.params) {
			if !fixed(r.Path) {
				s.ranges = append(s.ranges, r)
			}
		}
	}
	if s.ranges == nil {
		return fmt.Errorf("--scheme %s: no parameter of it has a range, from a source or of our own: give one, such as --range %s=LOW,HIGH", s.Scheme, s.example())
	}
	return nil
}

// example is the path of a parameter of the scheme that may have a range.
func (s *search) example() string {
	for _, path := range s.paths() {
		return path
	}
	return "defaults.flow.control.KEY"
}

// paths returns the paths of the scheme's parameters that are numbers.
func (s *search) paths() (all []string) {
	for _, c := range s.sections() {
		of := param.Of(c.params)
		for i := range of.Params {
			if x := &of.Params[i]; x.Sets() && x.Kind.Single() && x.Kind != param.Word && x.Kind != param.Flag {
				all = append(all, c.path+"."+x.Key)
			}
		}
	}
	return all
}

// givenRange reads a range as on the command line.
func (s *search) givenRange(text string) (sets.Range, error) {
	set, err := scenario.ParseSet(text)
	if err != nil {
		return sets.Range{}, fmt.Errorf("--range %s: expected PATH=LOW,HIGH", text)
	}
	low, high, found := strings.Cut(set.Value, ",")
	if !found || strings.Contains(high, ",") {
		return sets.Range{}, fmt.Errorf("--range %s: expected two values, PATH=LOW,HIGH", text)
	}
	for _, c := range s.sections() {
		key, in := strings.CutPrefix(set.Path, c.path+".")
		if !in || param.Of(c.params).Find(key) == nil {
			continue
		}
		r, err := sets.Given(c.path, c.params, key, strings.TrimSpace(low), strings.TrimSpace(high))
		if err != nil {
			return r, fmt.Errorf("--range %s: %w", text, err)
		}
		return r, nil
	}
	paths := s.paths()
	return sets.Range{}, fmt.Errorf("--range %s: %s has no parameter %s%s; it has %s", text, s.Scheme, set.Path,
		spelling.DidYouMean(spelling.Nearest(set.Path, paths)), strings.Join(paths, ", "))
}

// attempts is how often the values of a trial are drawn before the search gives up.
const attempts = 200

// draw draws the trials.
func (s *search) draw() error {
	s.trials = make([]Trial, s.Trials)
	for i := range s.trials {
		t := &s.trials[i]
		t.Number = i + 1
		if i == 0 {
			continue // the parameters of the source
		}
		random := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		var last error
		for try := 0; ; try++ {
			if try == attempts {
				return fmt.Errorf("of %d draws of values within the ranges none gives a valid scenario; the last: %w", attempts, last)
			}
			t.Values = nil
			for k := range s.ranges {
				t.Values = append(t.Values, Setting{s.ranges[k].Path, s.ranges[k].At(random.Float64())})
			}
			if _, last = s.open(slices.Concat(s.base, t.sets(), s.given)...); last == nil {
				break
			}
			t.Redrawn++
		}
	}
	return nil
}

// sets returns the values of a trial as changes.
func (t *Trial) sets() (all []scenario.Set) {
	for _, v := range t.Values {
		all = append(all, scenario.Set{Path: v.Path, Value: v.Value})
	}
	return all
}

// variant returns the scheme with the values of a trial.
func (s *search) variant(t *Trial) sweep.Variant {
	return sweep.Variant{Name: fmt.Sprintf("trial %d", t.Number), Scheme: s.Scheme, Sets: t.sets()}
}

// stage is a round, or the judgement: some trials with the same seeds.
type stage struct {
	trials      []*Trial
	first, most int // its seeds
}

// plan is the sweep of a stage.
func (s *search) plan(g *stage) sweep.Plan {
	p := s.Base
	axis := sweep.Axis{Path: sweep.Scheme}
	p.Axes, p.Variants = slices.Clone(p.Axes), nil
	for _, t := range g.trials {
		v := s.variant(t)
		axis.Values, p.Variants = append(axis.Values, v.Name), append(p.Variants, v)
	}
	p.Axes = append(p.Axes, axis)
	p.Repeat(g.first, g.most-g.first+1)
	return p
}
