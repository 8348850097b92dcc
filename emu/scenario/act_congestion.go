package scenario

import (
	"fmt"

	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/port"
)

// MarkingChange gives a switch other parameters of cca.
type MarkingChange struct {
	Plain
	// Input-buffered switch, scheme cca or none: new cca parameters, defaults for others.
	Marking CCAMarking `key:"marking" values:"a mapping with parameters of cca such as {threshold: 8, marking-rate: 3}"`
}

// CCAMarking is the parameters of cca that an event gives to a switch.
type CCAMarking struct{ cp.CCAParams }

// String prints the parameters as a mapping.
func (m CCAMarking) String() string { return param.Of(m).Mapping(m) }

// Row implements Act.
func (MarkingChange) Row() Row { return Row{Key: "marking", On: OnSwitch} }

// fit refuses a change of congestion control that a switch cannot make.
func (a MarkingChange) fit(x *entered) Act {
	s := &x.Switches[x.Nodes[x.Switch].Index]
	if _, cca := s.Marking.Params.(cp.CCAParams); s.Kind != InputBuffered || !cca && s.Marking.Scheme != NoScheme {
		x.refuse("marking", "switch %s has kind: %s and marking scheme %s: an event changes cca or none at an input-buffered switch",
			s.Name, s.Kind, s.Marking.Scheme)
	}
	return nil
}

// Course implements Act.
func (a MarkingChange) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("switch %s: marking %v", e.Switch, a.Marking)}
}

// Touch implements Act.
func (a MarkingChange) Touch(*Event) Touch { return Touch{Marks: a.Marking.CCAParams} }

// Begin implements Act.
func (a MarkingChange) Begin(e *Event, m *Making) {
	node := m.Node(e.Switch)
	m.Change(e.At, port.End{Node: node}, port.MarkingChange{Maker: m.Points(a.Marking.CCAParams, node)})
}

// ControlChange gives flows of an endpoint other parameters of cca.
type ControlChange struct {
	Plain
	// Flows of the endpoint with this sl (default 0), algorithm cca or fixed: new cca parameters,
	// defaults for others.
	Control CCAControl `key:"control" values:"a mapping with parameters of cca such as {ccti-increase: 2, ccti-timer: 100}"`
}

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

// Row implements Act.
func (ControlChange) Row() Row { return Row{Key: "control", On: OnEndpoint} }

// fit refuses a change of congestion control that the flows of an endpoint cannot make.
func (a ControlChange) fit(x *entered) Act {
	some, v := false, x.item.In("control")
	v.at = x.item.At("control")
	for i := range x.FlowOrigins {
		f := &x.Flows[i]
		changed := int(f.SL) == a.Control.SL
		if f.From != x.Endpoint || !changed && a.Control.PortControl != rp.CCAPerPort {
			continue
		}
		some = true
		before, cca := f.Control.Params.(rp.CCAParams)
		if !cca {
			before.PortControl = rp.CCAPerQP
		}
		switch family := x.FamilyOf(f.From); {
		case family != wire.InfiniBand || !cca && x.Algorithm(f).Feedback != rp.Nothing:
			x.refuse("control", "flow %s has algorithm: %s: an event changes cca or fixed on InfiniBand", f.Name, f.Control.Algorithm)
		case before.PortControl != a.Control.PortControl:
			x.found.Add(v.Where("port-control", "cct"), "flow %s has port-control: %s, which cannot change during a run", f.Name, before.PortControl)
		case !changed:
			x.found.Add(v.Where("port-control", "cct"), "with port-control: port an event needs flows of one service level at the endpoint: flow %s has sl: %d",
				f.Name, f.SL)
		default:
			now, frame := *f, x.Frame(f, family)
			now.Control.Params = a.Control.CCAParams
			x.CheckSite(&now, rp.Site{Line: x.LineRate(f), Length: x.Model.Framing.Length(&frame)}, x.Flow(i), func() Item { return v }, "cct", x.found)
		}
	}
	if !some {
		x.refuse("control", "endpoint %s sends no flow of service level %d: an event changes the control of flows, not of workloads",
			x.Endpoint, a.Control.SL)
	}
	return nil
}

// Course implements Act.
func (a ControlChange) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("endpoint %s: control %v", e.Endpoint, a.Control.brief())}
}

// Begin implements Act.
func (a ControlChange) Begin(e *Event, m *Making) {
	node := m.Node(e.Endpoint)
	m.Within(e.At, port.End{Node: node}, port.ControlChange{Reactions: m.Reactions(a.Control.CCAParams, node)})
}
