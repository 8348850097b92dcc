package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/wire"
)

// adaptEndpoints clears the fields of endpoints on InfiniBand that only an adapter of Ethernet
// has: all but a rate of service.
func (r *fabric) adaptEndpoints() {
	for e := range each(r.Endpoints, r.EndpointNodes) {
		if r.FamilyOf(e.Name) == wire.InfiniBand {
			limited := *e
			if *e = (scenario.Endpoint{Name: e.Name, Guest: e.Guest}); limited.Service != scenario.Unlimited {
				e.Service = limited.Service
			}
		}
	}
}

// checkFamilies refuses a link whose ends do not support its flow control, and a switch whose
// links have different ones.
func (r *fabric) checkFamilies() {
	for s, m := range each(r.Switches, r.SwitchNodes) {
		if s.Kind != scenario.OutputQueued {
			continue
		}
		for _, i := range m.Links {
			l, first := &r.Links[i], &r.Links[m.Links[0]]
			if l.FlowControl != first.FlowControl && l.Family() == wire.Ethernet && first.Family() == wire.Ethernet {
				r.Add(r.joined(i).Of(r.origins[i].Path),
					"link %s has flow-control: %s, and link %s at the same switch has %s: all links of switch %s have the same",
					l.Name, l.FlowControl, first.Name, first.FlowControl, s.Name)
				break
			}
		}
	}
	for l, of := range each(r.Links, r.origins) {
		for _, name := range []string{l.A, l.B} {
			m, credit := r.nodes[name], l.Family() == wire.InfiniBand
			if !m.IsSwitch || credit == (r.Switches[m.Index].Kind == scenario.InputBuffered) {
				continue
			}
			supports := "input-buffered, which supports credit only: make it output-queued"
			if credit {
				supports = "output-queued, which supports pause, pfc, cbfc and none only"
			}
			r.Add(of.View.Spot("flow-control", m.View.Spot("kind", of.Spot)),
				"link %s has flow-control: %s, and switch %s at its end is %s", l.Name, l.FlowControl, name, supports)
		}
	}
}
