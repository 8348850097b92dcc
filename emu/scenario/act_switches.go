package scenario

import (
	"fmt"

	"fabemu/switchd"
	"fabemu/wire/param"
	"fabemu/wire/port"
)

// restartAct has a switch lose its frames. Its links are down meanwhile.
type restartAct struct{ always }

func (restartAct) of(e *Event) bool { return e.Restart > 0 }

func (restartAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("switch %s restarts", e.Switch), ends: fmt.Sprintf("switch %s is back", e.Switch), last: e.Restart}
}

func (restartAct) touch(e *Event) Touch {
	return Touch{Down: true, Until: e.At + e.Restart, Loses: true}
}

func (restartAct) loses(e *Event) string {
	return fmt.Sprintf("switch %s is restarted at %v", e.Switch, e.At)
}

func (restartAct) begin(e *Event, m *Making) {
	down, up, node := e.At, e.At+e.Restart, m.Node(e.Switch)
	m.Change(down, port.End{Node: node}, port.Restart{})
	for p := range m.PortsOf(node) {
		at := port.End{Node: node, Port: port.ID(p)}
		peer := m.Peer(at)
		m.Change(down, peer, port.LinkDown{})
		m.Change(up, at, port.LinkUp{})
		m.Change(up, peer, port.LinkUp{})
	}
}

// watermarksAct gives a switch other watermarks.
type watermarksAct struct{ always }

func (watermarksAct) of(e *Event) bool { return e.High > 0 }

// fit computes the low watermark, and refuses a high one without headroom.
func (watermarksAct) fit(x *entered) {
	s, m, ok := x.queued()
	if !ok {
		return
	}
	if control := x.control(s); !control.Pauses() || !s.Stops(control) {
		x.Add(x.node.Spot, "switch %s stops no sender by watermarks: its links have flow-control: %s, and its lossless priorities are %v",
			s.Name, control, s.Lossless)
		return
	}
	a, owner := x.memory(s, m), *m
	if x.Low == 0 {
		x.Low = x.lowFor(m, x.High)
	}
	owner.view = x.fields()
	a.owner, a.high, a.low = &owner, &x.High, &x.Low
	x.setWatermarks(a)
}

// queued returns the switch of an event for output-queued switches, and refuses another one.
func (x *entered) queued() (s *Switch, m *nodeRef, ok bool) {
	m = x.nodes[x.Switch]
	s = &x.s.Switches[m.index]
	if ok = s.Kind == OutputQueued; !ok {
		x.Add(x.node.Spot, "switch %s has kind: %s: watermarks and a watchdog belong to kind: output-queued", s.Name, s.Kind)
	}
	return s, m, ok
}

func (watermarksAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("switch %s: high %v, low %v", e.Switch, e.High, e.Low)}
}

func (watermarksAct) begin(e *Event, m *Making) {
	m.Change(e.At, port.End{Node: m.Node(e.Switch)}, port.WatermarksChange{High: e.High, Low: e.Low})
}

// watchdogAct gives a switch another PFC watchdog, or none.
type watchdogAct struct{ always }

// A watchdog that is off is zero: nothing else changes a switch then.
func (watchdogAct) of(e *Event) bool {
	return e.Switch != "" && !restartAct{}.of(e) && !watermarksAct{}.of(e) && !markingAct{}.of(e)
}

// fit completes the watchdog with the values that it had before.
func (watchdogAct) fit(x *entered) {
	s, _, ok := x.queued()
	if !ok {
		return
	}
	v := x.fields().Sub("watchdog")
	before, have := x.dogs[s.Name]
	if !have {
		before = s.Watchdog
	}
	v.Of.Fill(&x.Watchdog, func(p *param.Param) any {
		value, given := v.Value(p)
		if own, err := p.Read(p.Text(before)); given == nil && err == nil { // without a watchdog before it has the default
			value = own
		}
		return value
	}, nil)
	if x.dogs == nil {
		x.dogs = map[string]switchd.Watchdog{}
	}
	x.dogs[s.Name] = x.Watchdog
	x.checkWatchdog(s, &x.Watchdog, x.node.Get("watchdog").Spot)
}

func (watchdogAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("switch %s: watchdog %s", e.Switch, param.Of(e.Watchdog).Mapping(e.Watchdog))}
}

func (watchdogAct) begin(e *Event, m *Making) {
	node := m.Node(e.Switch)
	m.Change(e.At, port.End{Node: node}, port.WatchdogChange{Watchdog: e.Watchdog})
	if e.Watchdog.Action == switchd.StormForward { // the peers do not rely on its PFC frames any more
		for p := range m.PortsOf(node) {
			m.Change(e.At, m.Peer(port.End{Node: node, Port: port.ID(p)}), port.PauseIgnored{Peer: true})
		}
	}
}

// markingAct gives a switch other parameters of cca.
type markingAct struct{ always }

func (markingAct) of(e *Event) bool { return e.Marking != CCAMarking{} }

func (markingAct) fit(x *entered) { x.checkMarking() }

func (markingAct) course(e *Event) course {
	return course{begins: fmt.Sprintf("switch %s: marking %v", e.Switch, e.Marking)}
}

func (markingAct) begin(e *Event, m *Making) {
	node := m.Node(e.Switch)
	m.Change(e.At, port.End{Node: node}, port.MarkingChange{Maker: m.Points(e, node)})
}
