package scenario

import (
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
)

// CCAMarking is the parameters of cca that an event gives to a switch.
type CCAMarking struct{ cp.CCAParams }

// String prints the parameters as a mapping.
func (m CCAMarking) String() string { return param.Of(m).Mapping(m) }

// CCAControl is the parameters of cca that an event gives to flows of an endpoint.
type CCAControl struct{ rp.CCAParams }

// String prints the parameters as a mapping.
func (c CCAControl) String() string { return param.Of(c).Mapping(c) }

// brief returns the parameters with the beginning of a long table, for reports.
func (c CCAControl) brief() CCAControl {
	const most = 40
	if len(c.CCT) > most {
		c.CCT = c.CCT[:most] + "..."
	}
	return c
}

// marks reports whether the event changes the marking of a switch.
func (e *Event) marks() bool { return e.Marking != CCAMarking{} }

// controls reports whether the event changes the control of flows.
func (e *Event) controls() bool { return e.Control != CCAControl{} }

// Controls reports whether the event changes the control of a flow.
func (e *Event) Controls(f *Flow) bool {
	return e.controls() && f.From == e.Endpoint && int(f.SL) == e.Control.SL
}

// checkCongestion refuses a change of congestion control that a switch or an endpoint cannot make.
func (r *resolver) checkCongestion(n *node, e *Event) {
	if e.marks() {
		s := &r.s.Switches[r.nodes[e.Switch].index]
		if _, cca := s.Marking.Params.(cp.CCAParams); s.Kind != InputBuffered || !cca && s.Marking.Scheme != NoScheme {
			r.add(n.get("marking").spot, "switch %s has kind: %s and marking scheme %s: an event changes cca or none at an input-buffered switch",
				s.Name, s.Kind, s.Marking.Scheme)
		}
		return
	}
	at, some := n.get("control"), false
	v := scheme{view{of: r.tables.section("events"), chain: [2]*node{n}}.sub("control"), "cct", at.spot}
	for f, of := range each(r.s.Flows, r.flows) {
		if f.From != e.Endpoint || !e.Controls(f) && e.Control.PortControl != rp.CCAPerPort {
			continue
		}
		some = true
		before, cca := f.Control.Params.(rp.CCAParams)
		if !cca {
			before.PortControl = rp.CCAPerQP
		}
		switch family := r.family(f.From); {
		case family != wire.InfiniBand || !cca && r.s.Algorithm(f).Feedback != rp.Nothing:
			r.add(at.spot, "flow %s has algorithm: %s: an event changes cca or fixed on InfiniBand", f.Name, f.Control.Algorithm)
		case before.PortControl != e.Control.PortControl:
			r.add(v.spotOf("port-control"), "flow %s has port-control: %s, which cannot change during a run", f.Name, before.PortControl)
		case !e.Controls(f):
			r.add(v.spotOf("port-control"), "with port-control: port an event needs flows of one service level at the endpoint: flow %s has sl: %d",
				f.Name, f.SL)
		default:
			now, frame := *f, r.s.Frame(f, family)
			now.Control.Params = e.Control.CCAParams
			r.checkSite(&now, rp.Site{Line: r.lineRate(f), Length: r.s.Model.Framing.Length(&frame)}, SharedBy(&now), of, v)
		}
	}
	if !some {
		r.add(at.spot, "endpoint %s sends no flow of service level %d: an event changes the control of flows, not of workloads",
			e.Endpoint, e.Control.SL)
	}
}
