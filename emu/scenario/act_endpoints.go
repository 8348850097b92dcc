package scenario

import (
	"fmt"
	"strings"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// ServiceChange gives an endpoint another rate of service.
type ServiceChange struct {
	Plain
	// New service rate of the endpoint.
	Service unit.Rate `key:"service" none:"unlimited" at:"9223372036854775807" also:"service-rate"`
}

// Row implements Act.
func (ServiceChange) Row() Row { return Row{Key: "service", On: OnEndpoint} }

// Course implements Act.
func (a ServiceChange) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("endpoint %s: service %s", e.Endpoint, builtIn().paramsOf(a).Find("service").Text(a))}
}

// Touch implements Act.
func (a ServiceChange) Touch(*Event) Touch { return Touch{Service: a.Service} }

// Begin implements Act.
func (a ServiceChange) Begin(e *Event, m *Making) {
	m.AtNode(e.At, e.Endpoint, port.ServiceRate{Rate: Served(a.Service)})
}

// Served returns a rate of service as endpoints have it: 0 takes frames at once.
func Served(r unit.Rate) unit.Rate {
	if r == Unlimited {
		return 0
	}
	return r
}

// PauseStorm has an endpoint keep its peer paused.
type PauseStorm struct {
	Plain
	// The endpoint keeps its peer paused, whatever room it has, or stops doing so.
	State Storm `key:"pause-storm" words:"on|off" also:"storm"`
	// With pfc: priorities to pause; by default all.
	Classes Priorities `key:"priorities" form:"priorities" omit:"usual"`
	// With pfc: sends frames that the peer must ignore. pause: PAUSE; no-classes: PFC that enables
	// no priority.
	Invalid Invalid `key:"invalid" words:"pause|no-classes" omit:"usual" also:"malformed"`
	// Sends frames of zero quanta (XON), which let the peer continue, while the endpoint does not
	// stop it itself.
	XON bool `key:"xon" def:"false" omit:"usual" also:"resume"`
	// The storm stops for this long at the end of each period.
	Gap unit.Duration `key:"gap" low:"above 0s" omit:"usual"`
	Periodic
	Lasting
}

// Row implements Act.
func (PauseStorm) Row() Row { return Row{Key: "pause-storm", On: OnEndpoint} }

func (a PauseStorm) check(x *entered) {
	a.Periodic.check(x, a.Gap)
	if off := a.State == StormOff; !x.checkEnds(off) && off && a.Gap > 0 {
		x.refuse("gap", "a storm that ends has no gaps: leave gap out")
	}
	control := x.controlOf()
	switch {
	case control == port.Credits:
		x.refuse("endpoint", "the link of %s has flow-control: credit: pause storms exist on Ethernet only", x.Endpoint)
	case !control.Pauses():
		x.refuse("endpoint", "%s cannot pause its peer: its link has flow-control: %s", x.Endpoint, control)
	case a.Classes != 0 && control != port.PriorityPauseFrames:
		x.refuse("endpoint", "the link of %s does not have flow-control: pfc: only PFC pauses priorities", x.Endpoint)
	case a.Invalid != "" && control != port.PriorityPauseFrames:
		x.refuse("endpoint", "the link of %s does not have flow-control: pfc: invalid frames are those that a port with PFC ignores", x.Endpoint)
	case a.Invalid != "" && a.XON:
		x.refuse("xon", "frames of XON are valid: leave out invalid, or xon")
	case a.Invalid != "" && a.Classes != 0:
		x.refuse("endpoint", "invalid frames stop no priority: leave out priorities, or invalid")
	}
}

// controlOf returns the flow control of the link of the endpoint.
func (x *entered) controlOf() port.FlowControl {
	return x.Links[x.Nodes[x.Endpoint].Links[0]].FlowControl
}

// Course implements Act.
func (a PauseStorm) Course(e *Event) Course {
	name := strings.TrimSpace(fmt.Sprintf("pause storm %s", a.Invalid))
	if a.XON {
		name += " of XON"
	}
	c := Course{Begins: fmt.Sprintf("endpoint %s: %s %s", e.Endpoint, name, a.State),
		Ends: fmt.Sprintf("endpoint %s: %s off", e.Endpoint, name), Last: a.For,
		Fault: fmt.Sprintf("storm of %s ", e.Endpoint), Over: a.State == StormOff}
	if a.XON {
		c.Fault = "XON " + c.Fault
	}
	if a.Classes != 0 {
		c.Fault += a.Classes.String()
	}
	return c
}

// Begin implements Act.
func (a PauseStorm) Begin(e *Event, m *Making) {
	start := port.StormStart{Classes: uint8(a.Classes), Invalid: a.Invalid.Kind(), XON: a.XON}
	stop, end := port.StormStop(start), a.over(e, m)
	if a.State == StormOff {
		m.AtNode(e.At, e.Endpoint, stop)
		return
	}
	m.AtNode(e.At, e.Endpoint, start)
	for next := e.At + a.Period; a.Gap > 0 && next-a.Gap < end; next += a.Period {
		if m.AtNode(next-a.Gap, e.Endpoint, stop); next < end {
			m.AtNode(next, e.Endpoint, start)
		}
	}
	m.AtNode(end, e.Endpoint, stop)
}

// PauseChange has an endpoint ignore PAUSE frames, or obey them again.
type PauseChange struct {
	Plain
	// ignored: the endpoint ignores PAUSE and PFC, as a faulty adapter does. Its peer drops frames
	// that do not fit.
	Pauses Obedience `key:"pauses" words:"ignored|obeyed" also:"pfc"`
	Lasting
}

// Row implements Act.
func (PauseChange) Row() Row { return Row{Key: "pauses", On: OnEndpoint} }

func (a PauseChange) check(x *entered) {
	x.checkEnds(a.Pauses == Obeyed)
	if !x.controlOf().Pauses() {
		x.refuse("endpoint", "the link of %s has neither flow-control: pause nor pfc: there are no PAUSE frames to ignore", x.Endpoint)
	}
}

// Course implements Act.
func (a PauseChange) Course(e *Event) Course {
	c := Course{Begins: fmt.Sprintf("endpoint %s: PAUSE is %s", e.Endpoint, a.Pauses),
		Ends: fmt.Sprintf("endpoint %s: PAUSE is obeyed", e.Endpoint), Last: a.For,
		Fault: "pauses of " + e.Endpoint, Over: a.Pauses == Obeyed}
	if a.Pauses == Ignored {
		c.Loses = fmt.Sprintf("endpoint %s ignores PAUSE from %v on", e.Endpoint, e.At)
	}
	return c
}

// Touch implements Act.
func (a PauseChange) Touch(*Event) Touch { return Touch{Loses: a.Pauses == Ignored} }

// Begin implements Act.
func (a PauseChange) Begin(e *Event, m *Making) {
	at, end := port.End{Node: m.Node(e.Endpoint)}, a.over(e, m)
	peer := m.Peer(at)
	if a.Pauses == Ignored {
		m.Within(e.At, at, port.PauseIgnored{})
		m.Within(e.At, peer, port.PauseIgnored{Peer: true})
	} else {
		end = e.At
	}
	m.Within(end, at, port.PauseObeyed{})
	m.Within(end, peer, port.PauseObeyed{Peer: true})
}

// SinkChange has an endpoint stop taking frames in, or take them in again.
type SinkChange struct {
	Plain
	// The endpoint stops, or resumes, taking frames in.
	Sink SinkState `key:"sink" words:"stopped|running"`
	Lasting
}

// Row implements Act.
func (SinkChange) Row() Row { return Row{Key: "sink", On: OnEndpoint} }

func (a SinkChange) check(x *entered) { x.checkEnds(a.Sink == SinkRunning) }

// Course implements Act.
func (a SinkChange) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("endpoint %s: sink %s", e.Endpoint, a.Sink),
		Ends: fmt.Sprintf("endpoint %s: sink running", e.Endpoint), Last: a.For,
		Fault: "sink of " + e.Endpoint, Over: a.Sink == SinkRunning}
}

// Touch implements Act.
func (a SinkChange) Touch(*Event) Touch { return Touch{Stops: a.Sink == SinkStopped} }

// Begin implements Act.
func (a SinkChange) Begin(e *Event, m *Making) {
	end := e.At
	if a.Sink == SinkStopped {
		m.AtNode(e.At, e.Endpoint, port.SinkStopped{})
		end = a.over(e, m)
	}
	m.AtNode(end, e.Endpoint, port.SinkStarted{})
}
