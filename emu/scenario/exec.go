package scenario

import (
	"slices"
	"strings"

	"fabemu/emu/base/files"
	"fabemu/node/rp"
)

// Executes reports whether algorithms of s are in other programs.
func (s *Scenario) Executes() bool {
	of := func(c *Control) bool { _, ok := c.Params.(rp.ExecParams); return ok }
	return slices.ContainsFunc(s.Flows, func(f Flow) bool { return of(&f.Control) }) ||
		slices.ContainsFunc(s.Workloads, func(w Workload) bool { return of(&w.Control) })
}

// Files returns the paths of the files that a run of s reads or starts, beside the text of s: lists
// of transfers, programs of ranks, and programs with algorithms, whose arguments may be files.
func (s *Scenario) Files() (all []string) {
	of := func(c *Control) {
		p, ok := c.Params.(rp.ExecParams)
		if !ok {
			return
		}
		all = append(all, string(p.Program))
		for word := range strings.FieldsSeq(string(p.Arguments)) {
			if f, err := files.Open(word); err == nil {
				f.Close()
				all = append(all, word)
			}
		}
	}
	for i := range s.Flows {
		of(&s.Flows[i].Control)
	}
	for i := range s.Workloads {
		w := &s.Workloads[i]
		of(&w.Control)
		all = append(all, w.Transfers, w.Goal)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(path string) bool { return path == "" })
}
