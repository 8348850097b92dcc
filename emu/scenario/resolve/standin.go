package resolve

import "fabemu/emu/scenario"

// standIns is how many flows stand for an endpoint of a workload while the scenario is checked: as
// many as reach all links where endpoints are few, and enough of them where they are many.
const standIns = 64

// standIn adds flows instead of each workload: from each endpoint to others, evenly apart. So the
// checks of flows apply to workloads too. withdraw removes these flows.
func standIn(r *scenario.Site) {
	r.Own = len(r.Flows)
	for i, of := range r.WorkloadOrigins {
		w := &r.Workloads[i]
		names := w.Members()
		r.WorkloadOrigins[i].Index = len(r.Flows)
		step := max(1, (len(names)-1+standIns-1)/standIns)
		for n, from := range names {
			for k := 1; k < len(names); k += step {
				of.Index = len(r.Flows)
				r.Flows = append(r.Flows, w.Template(from, names[(n+k)%len(names)]))
				r.FlowOrigins = append(r.FlowOrigins, of)
			}
		}
	}
}

// withdraw removes the flows that stand for workloads.
func withdraw(r *scenario.Site) {
	r.Flows, r.FlowOrigins = r.Flows[:r.Own:r.Own], r.FlowOrigins[:r.Own:r.Own]
}
