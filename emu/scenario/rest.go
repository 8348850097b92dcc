package scenario

import (
	"slices"

	"fabemu/emu/fabric/paths"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
)

// output is a link in the direction from a machine.
type output struct{ machine, link int }

// lintRest warns of outputs whose flows of DCQCN have no queue at which they could come to rest. It
// counts the flows for which the output is the narrowest on their way, as if all had packets at all times.
func (r *resolver) lintRest() {
	isDCQCN := func(f Flow) bool {
		_, ok := f.Control.Params.(rp.DCQCNParams)
		return ok && r.family(f.From) == wire.Ethernet
	}
	if !slices.ContainsFunc(r.s.Flows, isDCQCN) {
		return
	}
	visit := func(of flowOf, do func(o output)) {
		r.ways.Visit(r.key(of), func(at int, step paths.Step) { do(output{at, step.Link}) })
	}
	crossed := map[output]int{} // by flows of any law
	for _, of := range r.flows {
		visit(of, func(o output) { crossed[o]++ })
	}
	narrow, order := map[output][]*Flow{}, []output(nil)
	for f, of := range r.eachFlow() {
		if !isDCQCN(*f) {
			continue
		}
		least, at := 0.0, output{}
		visit(of, func(o output) {
			if share := float64(r.s.Links[o.link].Rate) / float64(crossed[o]); least == 0 || share < least {
				least, at = share, o
			}
		})
		if narrow[at] == nil {
			order = append(order, at)
		}
		narrow[at] = append(narrow[at], f)
	}
	for _, o := range order {
		if o.machine < len(r.s.Switches) {
			r.lintCliff(o, len(narrow[o]), narrow[o][0])
		}
	}
}

// lintCliff warns if so many flows like f would need more marks than the line of an output has.
func (r *resolver) lintCliff(o output, flows int, f *Flow) {
	s, l, law := &r.s.Switches[o.machine], &r.s.Links[o.link], f.Control.Params.(rp.DCQCNParams)
	liner, ok := s.Marking.Params.(cp.Liner)
	if !ok || !law.HasRest() {
		return
	}
	frame := r.s.Frame(f, wire.Ethernet)
	packet := r.s.Model.Framing.Length(&frame)
	low, high, most, ok := liner.Line(packet)
	share := law.Rest(flows, l.Rate, packet)
	if !ok || high <= low || share <= most {
		return
	}
	cliff := 1
	for law.Rest(cliff, l.Rate, packet) <= most {
		cliff++
	}
	bytes := "none"
	if law.ByteCounter > 0 {
		bytes = law.ByteCounter.String()
	}
	r.warnedAt(r.machines[s.Name].view.sub("marking"), "max-p", "scheme", r.machines[s.Name].spot,
		"%s: %d flows of dcqcn would come to rest with %.3g %% of their packets marked, cbrt(R_AI N^2/(K C^2) (1/B + N/(T C))^2) with R_AI %v, N %d, C %v, K %v, B %s, T %v and packets of %v, and the line of switch %s ends at %.3g %%: above it each packet is marked, and the queue stays at that cliff. That is so from %d flows on",
		l.Name, flows, 100*share, law.ActiveIncrease, flows, l.Rate, law.AlphaTimer, bytes, law.RateTimer,
		packet, s.Name, 100*most, cliff)
}
