package port

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Manage decides about a management packet that has come to a port of a node whole
// (wire.Management): it returns the port by which the packet, or the answer to it, leaves, or Taken
// or AnyPort. It may change the frame, except its Part, and the datagram.
type Manage func(now unit.Time, in ID, f *wire.Frame, mad *[wire.MADSize]byte) (out ID)

// Taken is the result of Manage for a packet that ends at the node, and AnyPort the one for a
// packet that leads nowhere.
const Taken = AnyPort - 1

// Manage asks about a management packet that Receive has passed. ok reports whether it leaves, by
// out; otherwise it ends here.
func (p *Port) Manage(now unit.Time, manage Manage, f *wire.Frame) (out ID, ok bool) {
	out = AnyPort
	if mad := p.out.Bodies.Of(f).MAD(); manage != nil && mad != nil {
		out = manage(now, p.id, f, mad)
	}
	switch out {
	case AnyPort:
		p.Lost(now, f, trace.NoRoute)
	case Taken:
		p.out.Bodies.Free(f)
	}
	return out, out < Taken
}

// mad is a packet of VL15 that waits for the link, and when it may leave at the earliest.
type mad struct {
	frame wire.Frame
	at    unit.Time
}

// madRoom is how many packets of VL15 wait for a link at most.
const madRoom = 64

// Queue has a management packet leave as soon as the link is idle, but not before an instant. Only
// flow control packets precede it. It is lost if the link is down or too many wait. Control sends
// it.
func (p *Port) Queue(now, at unit.Time, f *wire.Frame) {
	switch c := p.VirtualLanes(); {
	case c == nil || p.Down():
		p.Lost(now, f, trace.LinkWasDown)
	case len(c.mads) >= madRoom:
		p.Lost(now, f, trace.BufferFull)
	default:
		c.mads = append(c.mads, mad{*f, at})
		p.owed = owed
	}
}

// receiveMAD passes a management packet. A frame of another kind is one of a lane that does not
// exist.
func (c *VirtualLanes) receiveMAD(now unit.Time, a *Arrival) (pass bool) {
	p := c.port
	if a.Frame.Kind != wire.Management {
		p.Lost(now, &a.Frame, trace.NoSuchLane)
		return false
	}
	p.rec.Arrive(now, uint16(p.id), &a.Frame, uint32(a.Length), 0)
	return true
}

// sendMADs sends the packets of VL15 that may leave, if the link is idle. It returns when to ask
// again.
func (c *VirtualLanes) sendMADs(now unit.Time) unit.Time {
	p := c.port
	for len(c.mads) > 0 {
		m := &c.mads[0]
		at := max(m.at, p.transmitter.free)
		if p.faulty {
			at = max(at, p.faults.stuck)
		}
		if at > now {
			return at
		}
		p.Start(now, &m.frame, p.Framing().Length(&m.frame), Note{})
		c.mads = append(c.mads[:0], c.mads[1:]...)
	}
	return unit.Never
}
