package lint

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/node/rp"
	"fabemu/node/traffic"
	"fabemu/switchd/cp"
)

// algorithms warns of parameters of algorithms that make little sense on their flows' links, or
// do not agree with the congestion points on the path.
func algorithms(s *scenario.Site, p *scenario.Problems) {
	var busy map[output]int
	for i := range s.Flows {
		f := &s.Flows[i]
		control, traits := s.Flow(i).In("control"), rp.TraitsOf(f.Control.Params)
		if traits.Warns != nil {
			frame := s.Frame(f, s.FamilyOf(f.From))
			site := rp.Site{Line: s.LineRate(f), Length: s.Model.Framing.Length(&frame)}
			if busy == nil {
				busy = greedy(s)
			}
			bottleneck(s, i, busy, &site)
			for _, d := range traits.Warns(site) {
				p.Add(control.Where(d.Key, "algorithm"), "flow %s: %s", f.Name, d.Why)
			}
		}
		if len(traits.Assumes) > 0 {
			assumed(s, i, traits.Assumes, p)
		}
	}
}

// greedy counts the greedy flows that cross each link in each direction. Where packets are divided
// among equal links a flow does not count.
func greedy(s *scenario.Site) map[output]int {
	flows := map[output]int{}
	for i := range s.Flows {
		if s.Flows[i].Traffic == traffic.Greedy {
			s.VisitPaths(i, func(at int, step paths.Step, sure bool) {
				if sure {
					flows[output{at, step.Link}]++
				}
			})
		}
	}
	return flows
}

// bottleneck sets the busiest link on the path of a flow, and the share of frames that the path
// marks in congestion.
func bottleneck(s *scenario.Site, flow int, flows map[output]int, site *rp.Site) {
	s.VisitPaths(flow, func(at int, step paths.Step, sure bool) {
		n, rate := flows[output{at, step.Link}], s.Links[step.Link].Rate
		if sure && float64(n)*float64(site.Capacity) > float64(site.Flows)*float64(rate) || sure && site.Capacity == 0 {
			site.Flows, site.Capacity = n, rate
		}
		if step.To < len(s.Switches) {
			site.Marked = max(site.Marked, cp.TraitsOf(s.Switches[step.To].Marking.Params).Share)
		}
	})
}

// assumed warns of parameters of a flow's algorithm whose values the congestion points on
// the path do not have.
func assumed(s *scenario.Site, flow int, keys []string, p *scenario.Problems) {
	f, control := &s.Flows[flow], s.Flow(flow).In("control")
	s.Passes(flow, func(w *scenario.Switch) {
		for _, key := range keys {
			there := textOf(s.Tables.Points, w.Marking.Scheme, w.Marking.Params, key)
			if there == "" {
				continue
			}
			if here := textOf(s.Tables.Algorithms, f.Control.Algorithm, f.Control.Params, key); there != here {
				p.Add(control.Where(key, "algorithm"), "flow %s assumes a %s of %s, and switch %s has %s: give the same to the flow",
					f.Name, key, here, w.Name, there)
			}
		}
	})
}
