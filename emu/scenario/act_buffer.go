package scenario

import (
	"fmt"
	"slices"

	"fabemu/wire/port"
)

// BufferCut takes a part of the buffer of a switch for the frames of a link.
type BufferCut struct {
	Plain
	// The buffer is that of the switch at the other end; by default both buffers.
	From string `key:"from" form:"node" omit:"usual" also:"direction"`
	Lasting
	// Share of its buffer that the receiving switch port keeps: of the link's credit, or of its
	// memory, with watermarks that preserve headroom. 1 ends the fault. Granted credit remains
	// valid; the buffer shrinks as frames leave.
	Buffer float64 `key:"buffer" low:"above 0" high:"1" values:"a share such as 0.5"`

	Left [2]port.BufferConfig // the part that is left at each end of the link; zero: all of it
}

// Row implements Act.
func (BufferCut) Row() Row { return Row{Key: "buffer", On: OnLink} }

func (a BufferCut) check(x *entered) { x.checkEnds(a.Buffer == 1) }

// fit computes the parts that are left, and refuses a part that is too small.
func (a BufferCut) fit(x *entered) Act {
	i := slices.IndexFunc(x.Links, func(l Link) bool { return l.Name == x.Link })
	l, some := &x.Links[i], false
	if l.Lanes.Count() > 1 {
		x.refuseWhole("link %s has several data lanes: this event is for links with one buffer", x.Link)
	}
	if a.From != "" && a.From != l.A && a.From != l.B {
		return nil
	}
	for side, from := range []string{l.A, l.B} {
		name := l.B
		if side == 1 {
			name = l.A
		}
		if m := x.Nodes[name]; m.IsSwitch && (a.From == "" || a.From == from) {
			a.Left[1-side] = x.leave(&x.Switches[m.Index], m, i, side, a.Buffer, x.item.At("buffer"))
			some = true
		}
	}
	switch {
	case l.FlowControl == port.ChannelCredits:
		x.refuse("buffer", "both ends of link %s count the credits of its channels, which are set before the run: with flow-control: cbfc a buffer cannot become smaller", l.Name)
	case !some:
		x.refuse("buffer", "no switch receives the frames of link %s: buffer is the buffer of a switch; from names the end that sends", l.Name)
	}
	return a
}

// Altered implements Act.
func (a BufferCut) Altered(now Act) string {
	if b, ok := now.(BufferCut); ok && b.Left != a.Left {
		return "leave less of the buffer"
	}
	return ""
}

// Course implements Act.
func (a BufferCut) Course(e *Event) Course {
	of := "of its buffers"
	if a.From != "" {
		of = "of the buffer for frames from " + a.From
	}
	c := Course{Begins: fmt.Sprintf("link %s: %v %s", e.Link, a.Buffer, of), Ends: fmt.Sprintf("link %s: all %s", e.Link, of),
		Last: a.For, Fault: fmt.Sprintf("buffer of %s %s", e.Link, a.From), Over: a.Buffer == 1}
	if c.Over {
		c.Begins = c.Ends
	}
	return c
}

// Seen implements Act.
func (a BufferCut) Seen(*Event, *Link) [2]bool {
	return [2]bool{a.Left[0].Room > 0, a.Left[1].Room > 0}
}

// Begin implements Act.
func (a BufferCut) Begin(e *Event, m *Making) {
	for k, end := range m.Ends(e.Link) {
		if a.Left[k] == (port.BufferConfig{}) {
			continue
		}
		var cut port.BufferChange
		if a.Buffer < 1 {
			cut.Left = a.Left[k]
		}
		m.Change(e.At, end, cut)
		if a.For > 0 {
			m.Within(e.At+a.For, end, port.BufferChange{})
		}
	}
}
