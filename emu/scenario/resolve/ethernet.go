package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
)

// adaptEndpoints clears the fields of endpoints on InfiniBand that only an adapter of Ethernet
// has: all but a rate of service.
func (r *resolver) adaptEndpoints() {
	for e := range each(r.s.Endpoints, r.EndpointNodes) {
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
func (r *resolver) checkFamilies() {
	for s, m := range each(r.s.Switches, r.SwitchNodes) {
		if s.Kind != scenario.OutputQueued {
			continue
		}
		for k, i := range m.Links {
			l, first := &r.s.Links[i], &r.s.Links[m.Links[0]]
			if l.FlowControl != first.FlowControl && l.Family() == wire.Ethernet && first.Family() == wire.Ethernet {
				r.Add(m.LinkAt[k].Of(r.LinkOrigins[i].Path),
					"link %s has flow-control: %s, and link %s at the same switch has %s: all links of switch %s have the same",
					l.Name, l.FlowControl, first.Name, first.FlowControl, s.Name)
				break
			}
		}
	}
	for l, of := range each(r.s.Links, r.LinkOrigins) {
		for _, name := range []string{l.A, l.B} {
			m, credit := r.Nodes[name], l.Family() == wire.InfiniBand
			if !m.IsSwitch || credit == (r.s.Switches[m.Index].Kind == scenario.InputBuffered) {
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

// checkPriorities refuses a lossless priority at a switch if a flow may reach the switch over a
// link that cannot stop that priority.
func (r *resolver) checkPriorities() {
	for s, m := range each(r.s.Switches, r.SwitchNodes) {
		given := m.View.List("lossless")
		if given == nil {
			continue
		}
		for _, i := range m.Links {
			l := &r.s.Links[i]
			for p, f := range r.Arriving(s.Name, i) {
				switch {
				case f == nil:
				case l.FlowControl == port.PauseFrames && s.Lossless != 0 && s.Lossless != scenario.AllPriorities:
					r.Add(given.Spot,
						"switch %s has some lossless priorities, and PAUSE stops all frames on link %s: make none, [], or all of them lossless, or use flow-control: pfc",
						s.Name, l.Name)
				case l.FlowControl == port.NoFlowControl && s.Lossless>>p&1 == 1:
					r.Add(given.Spot,
						"priority %d is lossless at switch %s, but flow %s arrives there over link %s, which has no flow control",
						p, s.Name, f.Name, l.Name)
				}
			}
		}
	}
}

// checkLimits refuses a switch that would drop frames beyond the limit of an output although its
// flow control promises that no frame is lost.
func (r *resolver) checkLimits() {
	for s, m := range each(r.s.Switches, r.SwitchNodes) {
		n := m.View.Node("output-limit")
		if s.Kind != scenario.OutputQueued || s.OutputLimit == 0 || n == nil {
			continue
		}
		switch control := r.s.Links[m.Links[0]].FlowControl; {
		case control == port.PauseFrames && s.Stops(control):
			r.Add(n.Spot,
				"switch %s would drop frames beyond %v at one output, but flow-control: pause promises that no frame is lost: leave the limit out, or give flow-control: none, or lossless: [], with which the switch stops no sender",
				s.Name, s.OutputLimit)
		case control == port.PriorityPauseFrames && s.Lossless == scenario.AllPriorities:
			r.Add(n.Spot,
				"switch %s would drop frames beyond %v at one output, but all priorities are lossless there: omit the limit, or list the lossless priorities; the limit applies to the others",
				s.Name, s.OutputLimit)
		}
	}
}

// checkQuanta refuses a PAUSE that would expire before it could be repeated, and a response in
// quanta that takes too long at the rate of the link.
func (r *resolver) checkQuanta() {
	least := port.LeastQuanta(r.s.Model.Framing)
	for l, of := range each(r.s.Links, r.LinkOrigins) {
		n := of.View.Node("quanta")
		if n != nil && l.FlowControl.Pauses() && l.Quanta < least {
			r.Add(n.Spot,
				"a PAUSE of %d quanta expires before it can be repeated behind the longest frame, or leaves no time for one: give at least %d",
				l.Quanta, least)
		}
		slowest, _ := r.s.Rates(l)
		if n := of.View.Node("response"); n != nil && l.Response.At(slowest) > port.MaxResponse {
			r.Add(n.Spot, "a response of %v takes %v at %v: it must be at most %v",
				l.Response, l.Response.At(slowest), slowest, port.MaxResponse)
		}
	}
}
