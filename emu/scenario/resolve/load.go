package resolve

import (
	"path/filepath"
	"strconv"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
)

// LanguageVersion is the version of the scenario language. It grows with each change that gives an
// old file another meaning, or none.
const LanguageVersion = 1

// MetricChecker returns an error for an expression that cannot be measured in a scenario: it is
// malformed, or names an object that does not exist. Package emu/metrics has one.
type MetricChecker func(expr string, s *scenario.Scenario) error

// Linter returns what is right in a scenario, but probably not intended. Package
// emu/scenario/lint has one.
type Linter func(*scenario.Site) []scenario.Problem

// Option changes the behaviour of Load.
type Option func(*options)

type options struct {
	metrics MetricChecker
	short   bool
	schemes *scenario.Schemes // nil: BuiltIn
	lint    Linter            // nil: there are no warnings but those of Load itself
}

// WithSchemes has Load choose from other tables than BuiltIn.
func WithSchemes(s scenario.Schemes) Option { return func(o *options) { o.schemes = &s } }

// Lint has Load warn of what a linter finds.
func Lint(check Linter) Option {
	return func(o *options) { o.lint = check }
}

// CheckMetrics has Load check the metrics under expect if nodes, links and flows are right. An
// error with a method Unknown() string reports that there is no object of the name that it returns.
func CheckMetrics(check MetricChecker) Option {
	return func(o *options) { o.metrics = check }
}

// Load reads a scenario from the text of a file and applies sets to it in their order. Of two for
// one field the last counts. The name of the file is for messages. The error is of type *Errors,
// with all mistakes of the file but for those that only follow from others. Values that are right
// but probably not intended are in Scenario.Warnings, most of them with Lint only. Load also checks
// the short run of a scenario, unless there are sets.
//
// A set of model.duration asks for a shorter run of the same scenario: flows, events and checks
// beyond the new end are left out, with a warning. In a file they are mistakes.
func Load(name string, src []byte, sets []scenario.Set, opts ...Option) (*scenario.Scenario, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	r := yaml.NewFile(filepath.ToSlash(name), string(src))
	root := r.Parse()
	if root == nil {
		return nil, r.Err()
	}
	var short *yaml.Node
	if root.Get("short") != nil && !o.short && len(sets) == 0 {
		short = root.Clone()
	}
	s, err := load(r, root, sets, o)
	if short != nil {
		o.short, o.lint = true, nil
		f := yaml.NewFile(r.Name, string(src))
		load(f, short, nil, o)
		err = r.Also(f)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// load reads the scenario of a parsed tree, which it changes.
func load(r *yaml.File, root *yaml.Node, sets []scenario.Set, o options) (*scenario.Scenario, error) {
	empty := scenario.Scenario{Schemes: o.schemes}
	t := empty.Tables()
	top := t.Language()
	if !r.Begin(root, grammar{t}) {
		return nil, r.Err()
	}
	if o.short {
		if short := root.Get("short"); short != nil {
			r.Read(short, top.Object.Find("short"))
		}
		shorten(r, root, top.Object)
	}
	for _, s := range sets {
		r.Apply(s)
	}
	if newer(r, root) {
		return nil, r.Err()
	}
	r.Read(root, top)
	s, found := resolve(&source{File: r, language: t, behind: map[string]*scenario.Given{}}, empty, o)
	if err := r.Err(); err != nil {
		return nil, err
	}
	for _, w := range r.Sorted() {
		s.Warnings = append(s.Warnings, scenario.Warning(w))
	}
	s.Keep(found)
	s.HasShort = root.Get("short") != nil && !o.short
	return s, nil
}

// newer reports a file in a newer version of the language, in which every other mistake could be
// none.
func newer(r *yaml.File, root *yaml.Node) bool {
	n := root.Get("language")
	if n == nil {
		return false
	}
	version, err := strconv.Atoi(n.Text)
	if err != nil || version <= LanguageVersion {
		return false
	}
	r.Add(n.Spot, "the file is in version %d of the language, and this program reads version %d: use a newer fabemu",
		version, LanguageVersion)
	return true
}
