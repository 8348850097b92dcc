package scenario

import (
	"fmt"
	"strings"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// serviceAct gives an endpoint another rate of service.
type serviceAct struct{ always }

func (serviceAct) of(e *Event) bool { return e.Service != 0 }

func (serviceAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("endpoint %s: service %s", e.Endpoint, builtIn().section("events").Find("service").Text(*e))}
}

func (serviceAct) begin(e *Event, m *Making) {
	m.node(e.At, e.Endpoint, port.ServiceRate{Rate: Served(e.Service)})
}

// Served returns a rate of service as endpoints have it: 0 takes frames at once.
func Served(r unit.Rate) unit.Rate {
	if r == Unlimited {
		return 0
	}
	return r
}

// stormAct has an endpoint keep its peer paused.
type stormAct struct{ always }

func (stormAct) of(e *Event) bool { return e.PauseStorm != "" }

func (stormAct) check(x *entered) {
	x.checkPeriod(x.Gap)
	if off := x.PauseStorm == StormOff; !x.checkEnds(off) && off && x.Gap > 0 {
		x.refuse("gap", "a storm that ends has no gaps: leave gap out")
	}
	control := x.controlOf()
	switch {
	case control == port.Credits:
		x.refuse("endpoint", "the link of %s has flow-control: credit: pause storms exist on Ethernet only", x.Endpoint)
	case !control.Pauses():
		x.refuse("endpoint", "%s cannot pause its peer: its link has flow-control: %s", x.Endpoint, control)
	case x.Classes != 0 && control != port.PriorityPauseFrames:
		x.refuse("endpoint", "the link of %s does not have flow-control: pfc: only PFC pauses priorities", x.Endpoint)
	case x.Invalid != "" && control != port.PriorityPauseFrames:
		x.refuse("endpoint", "the link of %s does not have flow-control: pfc: invalid frames are those that a port with PFC ignores", x.Endpoint)
	case x.Invalid != "" && x.Classes != 0:
		x.refuse("endpoint", "invalid frames stop no priority: leave out priorities, or invalid")
	}
}

// controlOf returns the flow control of the link of the endpoint.
func (x *entered) controlOf() port.FlowControl {
	return x.s.Links[x.nodes[x.Endpoint].links[0]].FlowControl
}

func (stormAct) course(e *Event) course {
	name := strings.TrimSpace(fmt.Sprintf("pause storm %s", e.Invalid))
	c := course{begins: fmt.Sprintf("endpoint %s: %s %s", e.Endpoint, name, e.PauseStorm),
		ends: fmt.Sprintf("endpoint %s: %s off", e.Endpoint, name), last: e.For,
		fault: fmt.Sprintf("storm of %s ", e.Endpoint), over: e.PauseStorm == StormOff}
	if e.Classes != 0 {
		c.fault += e.Classes.String()
	}
	return c
}

func (stormAct) begin(e *Event, m *Making) {
	start := port.StormStart{Classes: uint8(e.Classes), Invalid: e.Invalid.Kind()}
	stop, end := port.StormStop(start), m.over(e)
	if e.PauseStorm == StormOff {
		m.node(e.At, e.Endpoint, stop)
		return
	}
	m.node(e.At, e.Endpoint, start)
	for next := e.At + e.Period; e.Gap > 0 && next-e.Gap < end; next += e.Period {
		if m.node(next-e.Gap, e.Endpoint, stop); next < end {
			m.node(next, e.Endpoint, start)
		}
	}
	m.node(end, e.Endpoint, stop)
}

// pausesAct has an endpoint ignore PAUSE frames, or obey them again.
type pausesAct struct{ always }

func (pausesAct) of(e *Event) bool { return e.Pauses != "" }

func (pausesAct) check(x *entered) {
	x.checkEnds(x.Pauses == Obeyed)
	if !x.controlOf().Pauses() {
		x.refuse("endpoint", "the link of %s has neither flow-control: pause nor pfc: there are no PAUSE frames to ignore", x.Endpoint)
	}
}

func (pausesAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("endpoint %s: PAUSE is %s", e.Endpoint, e.Pauses),
		ends: fmt.Sprintf("endpoint %s: PAUSE is obeyed", e.Endpoint), last: e.For,
		fault: "pauses of " + e.Endpoint, over: e.Pauses == Obeyed}
}

func (pausesAct) touch(e *Event) Touch { return Touch{Loses: e.Pauses == Ignored} }

func (pausesAct) loses(e *Event) string {
	if e.Pauses != Ignored {
		return ""
	}
	return fmt.Sprintf("endpoint %s ignores PAUSE from %v on", e.Endpoint, e.At)
}

func (pausesAct) begin(e *Event, m *Making) {
	at, end := port.End{Node: m.Node(e.Endpoint)}, m.over(e)
	peer := m.Peer(at)
	if e.Pauses == Ignored {
		m.within(e.At, at, port.PauseIgnored{})
		m.within(e.At, peer, port.PauseIgnored{Peer: true})
	} else {
		end = e.At
	}
	m.within(end, at, port.PauseObeyed{})
	m.within(end, peer, port.PauseObeyed{Peer: true})
}

// sinkAct has an endpoint stop taking frames in, or take them in again.
type sinkAct struct{ always }

func (sinkAct) of(e *Event) bool { return e.Sink != "" }

func (sinkAct) check(x *entered) { x.checkEnds(x.Sink == SinkRunning) }

func (sinkAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("endpoint %s: sink %s", e.Endpoint, e.Sink),
		ends: fmt.Sprintf("endpoint %s: sink running", e.Endpoint), last: e.For,
		fault: "sink of " + e.Endpoint, over: e.Sink == SinkRunning}
}

func (sinkAct) begin(e *Event, m *Making) {
	end := e.At
	if e.Sink == SinkStopped {
		m.node(e.At, e.Endpoint, port.SinkStopped{})
		end = m.over(e)
	}
	m.node(end, e.Endpoint, port.SinkStarted{})
}

// controlAct gives flows of an endpoint other parameters of cca.
type controlAct struct{ always }

func (controlAct) of(e *Event) bool { return e.Control != CCAControl{} }

func (controlAct) fit(x *entered) { x.checkControl() }

func (controlAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("endpoint %s: control %v", e.Endpoint, e.Control.brief())}
}

func (controlAct) begin(e *Event, m *Making) {
	node := m.Node(e.Endpoint)
	m.within(e.At, port.End{Node: node}, port.ControlChange{Reactions: m.Reactions(e, node)})
}
