package scenario

import (
	"fmt"

	"fabemu/switchd"
	"fabemu/wire/param"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Restart has a switch lose its frames. Its links are down meanwhile.
type Restart struct {
	Plain
	// The switch loses all frames; its links are down for this long. Its process continues.
	Restart unit.Duration `key:"restart" low:"above 0s" also:"outage"`
}

// Row implements Act.
func (Restart) Row() Row { return Row{Key: "restart", On: OnSwitch} }

// Course implements Act.
func (a Restart) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("switch %s restarts", e.Switch), Ends: fmt.Sprintf("switch %s is back", e.Switch),
		Last: a.Restart, Loses: fmt.Sprintf("switch %s is restarted at %v", e.Switch, e.At)}
}

// Touch implements Act.
func (a Restart) Touch(e *Event) Touch {
	return Touch{Down: true, Until: e.At + a.Restart, Loses: true, Empties: true}
}

// Begin implements Act.
func (a Restart) Begin(e *Event, m *Making) {
	down, up, node := e.At, e.At+a.Restart, m.Node(e.Switch)
	m.Change(down, port.End{Node: node}, port.Restart{})
	for p := range m.PortsOf(node) {
		at := port.End{Node: node, Port: port.ID(p)}
		peer := m.Peer(at)
		m.Change(down, peer, port.LinkDown{})
		m.Change(up, at, port.LinkUp{})
		m.Change(up, peer, port.LinkUp{})
	}
}

// WatermarksChange gives a switch other watermarks.
type WatermarksChange struct {
	Plain
	// Output-queued switch: new high watermark at all inputs; an input at or above it stops its
	// peer at once. Refused without headroom.
	High unit.Size `key:"high" low:"1B" also:"high-watermark|xoff"`
	// Low watermark; default as in switches. An input at or below it releases its peer at once.
	Low unit.Size `key:"low" low:"1B" omit:"usual" also:"low-watermark|xon"`
}

// Row implements Act.
func (WatermarksChange) Row() Row { return Row{Key: "high", On: OnSwitch} }

// fit computes the low watermark, and refuses a high one without headroom.
func (a WatermarksChange) fit(x *entered) Act {
	s, m, ok := x.queued()
	if !ok {
		return nil
	}
	if control := x.FlowControlOf(s); !control.Pauses() || !s.Stops(control) {
		x.refuseWhole("switch %s stops no sender by watermarks: its links have flow-control: %s, and its lossless priorities are %v",
			s.Name, control, s.Lossless)
		return nil
	}
	if s.Alpha > 0 {
		x.refuseWhole("switch %s has alpha: %v, which gives its watermarks: an event cannot change them", s.Name, s.Alpha)
		return nil
	}
	of := x.memory(s, m)
	if a.Low == 0 {
		a.Low = x.lowFor(m, a.High)
	}
	of.item, of.high, of.low = x.item, &a.High, &a.Low
	x.setWatermarks(of)
	return a
}

// queued returns the switch of an event for output-queued switches, and refuses another one.
func (x *entered) queued() (s *Switch, m *NodeRef, ok bool) {
	m = x.Nodes[x.Switch]
	s = &x.Switches[m.Index]
	if ok = s.Kind == OutputQueued; !ok {
		x.refuseWhole("switch %s has kind: %s: watermarks and a watchdog belong to kind: output-queued", s.Name, s.Kind)
	}
	return s, m, ok
}

// Course implements Act.
func (a WatermarksChange) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("switch %s: high %v, low %v", e.Switch, a.High, a.Low)}
}

// Touch implements Act.
func (a WatermarksChange) Touch(*Event) Touch { return Touch{High: a.High} }

// Begin implements Act.
func (a WatermarksChange) Begin(e *Event, m *Making) {
	m.Change(e.At, port.End{Node: m.Node(e.Switch)}, port.WatermarksChange{High: a.High, Low: a.Low})
}

// WatchdogChange gives a switch another PFC watchdog, or none.
type WatchdogChange struct {
	Plain
	// Output-queued switch with pfc: new watchdog parameters; others keep their values or defaults.
	// Current storms end, and polls restart.
	Watchdog switchd.Watchdog `key:"watchdog" short:"action" values:"drop, forward, alert, or a mapping with action, detection, restoration, poll, strict" also:"pfcwd|pfc-watchdog"`
}

// Row implements Act.
func (WatchdogChange) Row() Row { return Row{Key: "watchdog", On: OnSwitch} }

// fit completes the watchdog with the values that it had before.
func (a WatchdogChange) fit(x *entered) Act {
	s, _, ok := x.queued()
	if !ok {
		return nil
	}
	v := x.item.In("watchdog")
	before, have := x.dogs[s.Name]
	if !have {
		before = s.Watchdog
	}
	a.Watchdog = switchd.Watchdog{}
	v.Fields().Fill(&a.Watchdog, func(p *param.Param) any {
		value, given := v.value(p)
		if own, err := p.Read(p.Text(before)); !given && err == nil { // without a watchdog before it has the default
			value = own
		}
		return value
	}, nil)
	if x.dogs == nil {
		x.dogs = map[string]switchd.Watchdog{}
	}
	x.dogs[s.Name] = a.Watchdog
	x.checkWatchdog(s, &a.Watchdog, x.item.At("watchdog"))
	return a
}

// Course implements Act.
func (a WatchdogChange) Course(e *Event) Course {
	return Course{Begins: fmt.Sprintf("switch %s: watchdog %s", e.Switch, param.Of(a.Watchdog).Mapping(a.Watchdog))}
}

// Begin implements Act.
func (a WatchdogChange) Begin(e *Event, m *Making) {
	node := m.Node(e.Switch)
	m.Change(e.At, port.End{Node: node}, port.WatchdogChange{Watchdog: a.Watchdog})
	if a.Watchdog.Action == switchd.StormForward { // the peers do not rely on its PFC frames any more
		for p := range m.PortsOf(node) {
			m.Change(e.At, m.Peer(port.End{Node: node, Port: port.ID(p)}), port.PauseIgnored{Peer: true})
		}
	}
}
