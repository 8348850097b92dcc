package scenario

import (
	"slices"

	"fabemu/node/rp"
)

// Executes reports whether algorithms of s are in other programs.
func (s *Scenario) Executes() bool {
	of := func(c *Control) bool { _, ok := c.Params.(rp.ExecParams); return ok }
	return slices.ContainsFunc(s.Flows, func(f Flow) bool { return of(&f.Control) }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return of(&w.Control) })
}
