package scenario

import (
	"fmt"
	"slices"

	"fabemu/wire/port"
)

// bufferAct takes a part of the buffer of a switch for the frames of a link.
type bufferAct struct{ always }

func (bufferAct) of(e *Event) bool { return e.Buffer > 0 }

func (bufferAct) check(x *entered) { x.checkEnds(x.Buffer == 1) }

// checkEnds refuses a duration of an event that ends a fault.
func (x *entered) checkEnds(ends bool) (wrong bool) {
	if wrong = ends && x.For > 0; wrong {
		x.refuse("for", "for is how long a fault lasts, but this event ends one: leave for out")
	}
	return wrong
}

// fit computes the parts that are left, and refuses a part that is too small.
func (bufferAct) fit(x *entered) {
	i := slices.IndexFunc(x.s.Links, func(l Link) bool { return l.Name == x.Link })
	l, at, some := &x.s.Links[i], x.node.Get("buffer").Spot, false
	if l.Lanes.Count() > 1 {
		x.Add(x.node.Spot, "link %s has several data lanes: this event is for links with one buffer", x.Link)
	}
	if x.From != "" && x.From != l.A && x.From != l.B {
		return
	}
	for side, from := range []string{l.A, l.B} {
		name := l.B
		if side == 1 {
			name = l.A
		}
		if m := x.nodes[name]; m.isSwitch && (x.From == "" || x.From == from) {
			x.Left[1-side] = x.leave(&x.s.Switches[m.index], m, i, side, x.Buffer, at)
			some = true
		}
	}
	switch {
	case l.FlowControl == port.ChannelCredits:
		x.Add(at, "both ends of link %s count the credits of its channels, which are set before the run: with flow-control: cbfc a buffer cannot become smaller", l.Name)
	case !some:
		x.Add(at, "no switch receives the frames of link %s: buffer is the buffer of a switch; from names the end that sends", l.Name)
	}
}

func (bufferAct) course(e *Event) course {
	of := "of its buffers"
	if e.From != "" {
		of = "of the buffer for frames from " + e.From
	}
	c := course{begins: fmt.Sprintf("link %s: %v %s", e.Link, e.Buffer, of), ends: fmt.Sprintf("link %s: all %s", e.Link, of),
		last: e.For, fault: fmt.Sprintf("buffer of %s %s", e.Link, e.From), over: e.Buffer == 1}
	if c.over {
		c.begins = c.ends
	}
	return c
}

func (bufferAct) begin(e *Event, m *Making) {
	for k, end := range m.Ends(e.Link) {
		if e.Left[k] == (port.BufferConfig{}) {
			continue
		}
		var cut port.BufferChange
		if e.Buffer < 1 {
			cut.Left = e.Left[k]
		}
		m.Change(e.At, end, cut)
		if e.For > 0 {
			m.within(e.At+e.For, end, port.BufferChange{})
		}
	}
}
