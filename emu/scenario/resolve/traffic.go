package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/node/traffic"
)

// mostAtOnce is how many transfers may begin at one instant where each takes memory or time before
// any of them has left: transfers of flows, and events of incast, which each member draws.
const mostAtOnce = 4_000_000

// checkAtOnce refuses more transfers than can begin at one instant.
func checkAtOnce(r *source, flows flows, workloads workloads) {
	all := 0.
	add := func(count, times int, of origin, what string) {
		before := all
		if all += float64(count) * float64(times); count > 1 && before <= mostAtOnce && all > mostAtOnce {
			r.Add(of.View.Spot("count", of.Spot), "%s: %.0f flows would start at one instant, and at most %d can: give a lower count, or a load",
				what, all, mostAtOnce)
		}
	}
	senders := map[[2]string]bool{}
	for f, of := range each(flows.all, flows.origins) {
		if key := [2]string{f.Group, f.From}; f.Traffic == traffic.Transfers && f.Rate == 0 && !(f.Spread == scenario.Uniform && senders[key]) {
			senders[key] = true
			add(f.Count, 1, of, "flow "+f.Name)
		}
	}
	for w, of := range each(workloads.all, workloads.origins) {
		switch n := w.Range().Size(); {
		case w.Load > 0 || w.Ranked() || w.Transfers != "" || w.Pattern != traffic.Incast:
		default:
			add(w.Count, n, of, "workload "+w.Name)
		}
	}
}

// checkRanges refuses workloads whose transfers have not enough queue pairs.
func checkRanges(r *source, s *scenario.Scenario, workloads workloads) {
	for i, q := range s.Ranges() {
		if w := &s.Workloads[i]; q.Each < uint32(w.Open) {
			r.Add(workloads.origins[i].View.Spot("open", workloads.origins[i].Spot),
				"workload %s has %d queue pairs for each of its %d endpoints, and sends %d flows at a time: queue pair numbers have 24 bits",
				w.Name, q.Each, len(w.Members()), w.Open)
		}
	}
}
