package emu

import (
	"fabemu/emu/drive"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/report"
)

// deadlocks puts what a watch has found into the terms of reports, and when the run
// was ended because of it, 0 if it was not.
func (r *run) deadlocks(w *drive.Watch) (found []report.Deadlock, ended int64) {
	if w == nil {
		return nil, 0
	}
	for _, d := range w.Found {
		out := report.Deadlock{AtPs: int64(d.At)}
		for _, p := range d.Cycle {
			end := r.fabric.Machines[p.From.Machine].Ports[p.From.Port]
			out.Cycle = append(out.Cycle, report.Waiting{
				Machine: r.fabric.Machines[p.From.Machine].Name,
				For:     r.fabric.Machines[p.To.Machine].Name,
				Link:    metrics.LinkName(r.fabric, fabric.Hop{Wire: end.Wire, From: end.End}),
				Class:   int(p.Class), Cause: p.Block.String(), SincePs: int64(p.Since),
			})
		}
		found = append(found, out)
	}
	return found, int64(w.Ended)
}
