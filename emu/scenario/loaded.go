package scenario

import "slices"

// Findings are what follows from a scenario as it was read.
type Findings struct {
	Paths      *PathTable
	Programs   []Error     // for each program, the place of its command
	Derived    []Threshold // by key and value
	Manageable []Warning   // about what a subnet manager may change
}

// loaded is a scenario as it was loaded.
type loaded struct {
	scenario Scenario // with its own lists
	Findings
}

// Keep keeps findings, for as long as the scenario stays as it is.
func (s *Scenario) Keep(f Findings) {
	l := &loaded{*s, f}
	c := &l.scenario
	c.Switches, c.Endpoints, c.Links, c.Flows = slices.Clone(s.Switches), slices.Clone(s.Endpoints),
		slices.Clone(s.Links), slices.Clone(s.Flows)
	c.Routes, c.Events, c.Expect = slices.Clone(s.Routes), slices.Clone(s.Events), slices.Clone(s.Expect)
	c.Programs, c.Workloads, c.LaneRules = slices.Clone(s.Programs), slices.Clone(s.Workloads), slices.Clone(s.LaneRules)
	s.loaded = l
}

// Kept reports whether there are findings, and s is still as it was found.
func (s *Scenario) Kept() bool { return s.loaded.is(s) }

// is reports whether s is still the scenario that was loaded.
func (l *loaded) is(s *Scenario) bool { return l != nil && FirstDifference(&l.scenario, s) == "" }

// UnderManager returns the warnings about s that also hold with a subnet manager, which may turn
// congestion control on during the run.
func (s *Scenario) UnderManager() []Warning {
	return slices.DeleteFunc(slices.Clone(s.Warnings), func(w Warning) bool { return s.loaded != nil && slices.Contains(s.loaded.Manageable, w) })
}

// Derived returns the watermarks that Load has computed, by their keys and values.
func (s *Scenario) Derived() []Threshold {
	if s.loaded == nil {
		return nil
	}
	return s.loaded.Derived
}
