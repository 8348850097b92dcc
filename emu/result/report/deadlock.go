package report

import (
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/run/deadlock"
)

// Deadlocks puts the findings of a watch into the terms of reports.
func Deadlocks(f *fabric.Fabric, w *deadlock.Watch) (found []Deadlock) {
	for _, d := range w.Found {
		out := Deadlock{AtPs: int64(d.At)}
		for _, p := range d.Cycle {
			end := f.Nodes[p.From.Node].Ports[p.From.Port]
			out.Cycle = append(out.Cycle, Waiting{
				Node:  f.Nodes[p.From.Node].Name,
				For:   f.Nodes[p.To.Node].Name,
				Link:  f.LinkName(end.Out()),
				Class: int(p.Class), Cause: p.Block.String(), SincePs: int64(p.Since),
			})
		}
		found = append(found, out)
	}
	return found
}

// Stuck reports whether the run has ended in a deadlock, early or not, unless it is what a check of
// the scenario expects. One that something has broken, such as a watchdog, does not
// count, even if it has formed again.
func (r *Result) Stuck() bool { return r.Deadlocked && !r.expects("deadlocks") }

// expects reports whether a check of the scenario has found some of a quantity, as it should.
func (r *Result) expects(quantity string) bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool {
		return c.Outcome == Pass && c.Value > 0 && strings.HasSuffix(c.Metric, "."+quantity)
	})
}
