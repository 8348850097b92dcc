package scenario

import (
	"path/filepath"
	"slices"
	"strings"
)

// MetricChecker says whether an expression can be measured in a scenario:
// whether it is well formed and names what is there. Package emu/metrics has
// one.
type MetricChecker func(expr string, s *Scenario) error

// Option changes what Load does.
type Option func(*options)

type options struct {
	metrics MetricChecker
	short   bool
	schemes *Schemes // nil: those of the program
}

// CheckMetrics has Load check the metrics under expect, once the rest of the
// scenario is right, as far as machines, links and flows are concerned. An error that has a
// method Unknown() string, which returns a name, says that there is nothing of that name.
func CheckMetrics(check MetricChecker) Option {
	return func(o *options) { o.metrics = check }
}

// Load reads a scenario from the text of a file and changes it as sets say, in
// their order, so that the last of two for one field holds. The name is that of
// the file, for messages. A scenario that is not right gives an error of type
// *Errors, with all mistakes that were found: those of values and names first,
// and, when all of those are right, those of how the parts fit together. What is
// right, but probably not meant, is in Scenario.Warnings. The short run of a scenario
// that has one is checked with it, unless sets change it.
//
// A set of model.duration is a wish for another look at the same scenario: flows,
// events and checks that lie beyond the new end are left out, with a warning. In
// a file they are mistakes.
func Load(name string, src []byte, sets []Set, opts ...Option) (*Scenario, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	text := strings.TrimPrefix(string(src), "\uFEFF") // a byte order mark, which some editors write
	r := newReports(filepath.ToSlash(name), text)
	root := r.parse(text)
	if root == nil {
		return nil, r.err()
	}
	var short *node
	if root.get("short") != nil && !o.short && len(sets) == 0 {
		short = root.clone()
	}
	res, err := r.load(root, sets, o)
	if err != nil {
		return nil, err
	}
	if short == nil {
		return res.scenario(), nil
	}
	o.short = true
	if _, err := newReports(r.file, text).load(short, nil, o); err != nil {
		return nil, err
	}
	return res.scenario(), nil
}

// load makes a scenario of a tree that was parsed, which it changes: that of the resolver.
func (r *reports) load(root *node, sets []Set, o options) (*resolver, error) {
	empty := Scenario{Schemes: o.schemes}
	rows, t := empty.choices(), empty.tables()
	top := t.whole()
	if root.kind != mapping {
		root.want(r, mapping, top)
		return nil, r.err()
	}
	if o.short {
		if short := root.get("short"); short != nil {
			r.read(short, top.Object.Find("short"))
		}
		r.shorten(root)
	}
	for _, s := range sets {
		r.apply(root, top, s)
	}
	r.read(root, top)
	res := &resolver{reports: r, root: root, language: top.Object, rows: rows, tables: t, s: empty,
		told: map[saying]bool{}}
	s := res.resolve()
	s.loaded = newLoaded(s, res.ways)
	s.loaded.derived = slices.SortedFunc(slices.Values(res.derived), byThreshold)
	if o.metrics != nil && !r.fabric {
		res.checkMetrics(s, o.metrics)
		s.loaded.scenario.Expect = slices.Clone(s.Expect)
	} else {
		for _, n := range res.checks {
			if metric := n.sound("metric"); metric != nil && !res.mayBeOfProgram(metric.text) {
				res.checkDated(n)
			}
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	res.lint()
	slices.SortStableFunc(r.warnings, func(a, b Warning) int { return byPlace(Error(a), Error(b)) })
	s.Warnings = r.warnings
	s.loaded.programs = res.programs
	s.HasShort = root.get("short") != nil && !o.short
	return res, nil
}

// scenario returns what was resolved, by itself: a pointer into the resolver would keep all of the file
// in memory.
func (r *resolver) scenario() *Scenario {
	s := r.s
	return &s
}
