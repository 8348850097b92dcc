package emu

import (
	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/assemble"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
)

// Open reads a scenario: one that comes with the program, by its name
// ("hpl2002/fig3b"), or a file, by its path (it ends in .yaml or .yml, or begins
// with "." or "/"), or standard input ("-"). The sets change it, as --set does.
// An error that the user can correct is a *Mistake.
func Open(name string, sets ...scenario.Set) (*scenario.Scenario, error) {
	return load(name, sets)
}

// OpenShort reads the short run of a scenario, which its section short describes: for
// the wall clock, on which all of it would take too long.
func OpenShort(name string, sets ...scenario.Set) (*scenario.Scenario, error) {
	return load(name, sets, scenario.Short())
}

func load(name string, sets []scenario.Set, options ...scenario.Option) (*scenario.Scenario, error) {
	src, file, err := builtin.Find(name)
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	s, err := scenario.Load(file, src, sets, append(options, scenario.CheckMetrics(metrics.Checker()))...)
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	return s, nil
}

// Mistake is an error that the user can correct: in the scenario, or in the options.
type Mistake = errs.Mistake

// Prepare lays a scenario out without running it, and so shows that a run is possible.
func Prepare(s *scenario.Scenario) (*fabric.Fabric, error) {
	_, err := s.Resolved() // which refuses a scenario that is not right
	var f *fabric.Fabric
	if err == nil {
		f, err = fabric.Build(s)
	}
	if err == nil {
		err = assemble.Check(f)
	}
	if err != nil {
		return nil, &Mistake{Err: err}
	}
	return f, nil
}
