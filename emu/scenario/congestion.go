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

// Controls reports whether the event changes the control of a flow.
func (e *Event) Controls(f *Flow) bool {
	return controlAct{}.of(e) && f.From == e.Endpoint && int(f.SL) == e.Control.SL
}

// checkMarking refuses a change of congestion control that a switch cannot make.
func (x *entered) checkMarking() {
	s := &x.s.Switches[x.nodes[x.Switch].index]
	if _, cca := s.Marking.Params.(cp.CCAParams); s.Kind != InputBuffered || !cca && s.Marking.Scheme != NoScheme {
		x.refuse("marking", "switch %s has kind: %s and marking scheme %s: an event changes cca or none at an input-buffered switch",
			s.Name, s.Kind, s.Marking.Scheme)
	}
}

// checkControl refuses a change of congestion control that the flows of an endpoint cannot make.
func (x *entered) checkControl() {
	at, some := x.node.Get("control"), false
	v := scheme{x.fields().Sub("control"), "cct", at.Spot}
	for f, of := range each(x.s.Flows, x.flows) {
		if f.From != x.Endpoint || !x.Controls(f) && x.Control.PortControl != rp.CCAPerPort {
			continue
		}
		some = true
		before, cca := f.Control.Params.(rp.CCAParams)
		if !cca {
			before.PortControl = rp.CCAPerQP
		}
		switch family := x.family(f.From); {
		case family != wire.InfiniBand || !cca && x.s.Algorithm(f).Feedback != rp.Nothing:
			x.Add(at.Spot, "flow %s has algorithm: %s: an event changes cca or fixed on InfiniBand", f.Name, f.Control.Algorithm)
		case before.PortControl != x.Control.PortControl:
			x.Add(v.spotOf("port-control"), "flow %s has port-control: %s, which cannot change during a run", f.Name, before.PortControl)
		case !x.Controls(f):
			x.Add(v.spotOf("port-control"), "with port-control: port an event needs flows of one service level at the endpoint: flow %s has sl: %d",
				f.Name, f.SL)
		default:
			now, frame := *f, x.s.Frame(f, family)
			now.Control.Params = x.Control.CCAParams
			x.checkSite(&now, rp.Site{Line: x.lineRate(f), Length: x.s.Model.Framing.Length(&frame)}, SharedBy(&now), of, v)
		}
	}
	if !some {
		x.Add(at.Spot, "endpoint %s sends no flow of service level %d: an event changes the control of flows, not of workloads",
			x.Endpoint, x.Control.SL)
	}
}
