package measured

import (
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// controller hands measured instants to a reaction point.
type controller struct {
	rp.Controller
	time   *Pacing
	handed unit.Time // the latest
}

// Controller returns c in measured time. One that never does anything stays as it is; c may be
// nil.
func (p *Pacing) Controller(c rp.Controller) rp.Controller {
	if _, fixed := c.(*rp.Fixed); fixed || c == nil {
		return c
	}
	p.reacts = true
	return &controller{Controller: c, time: p}
}

// read returns the instant to hand over at an event of now.
func (c *controller) read(now unit.Time) unit.Time {
	c.handed = c.time.read(now)
	return c.handed
}

// Sent reports a start, at the instant of the model.
func (c *controller) Sent(now unit.Time, n unit.Size) {
	c.handed = max(c.handed, now)
	c.Controller.Sent(c.handed, n)
}

// Feedback hands a frame over.
func (c *controller) Feedback(now unit.Time, f wire.Frame) { c.Controller.Feedback(c.cameAt(now), f) }

// cameAt returns the instant of the feedback of now.
func (c *controller) cameAt(now unit.Time) unit.Time {
	at := c.time.feedback
	if c.time.feedback = 0; at == 0 {
		at = c.read(now)
	}
	c.handed = at
	return at
}

// Advance calls the reaction point when something is due.
func (c *controller) Advance(now unit.Time) { c.Controller.Advance(c.read(now)) }

// Extras returns its capabilities in addition to a Controller.
func (c *controller) Extras() rp.Extras {
	x := rp.ExtrasOf(c.Controller)
	if x.Sender != nil {
		x.Sender = sender{x.Sender, c}
	}
	if x.Judge != nil {
		x.Judge = judge{x.Judge, c}
	}
	if x.Acknowledged != nil {
		x.Acknowledged = acknowledged{x.Acknowledged, c}
	}
	return x
}

// sender hands measured instants to a reaction point that sends frames.
type sender struct {
	of rp.Sender
	by *controller
}

func (s sender) Send(now unit.Time) (wire.Frame, bool) { return s.of.Send(s.by.read(now)) }

// acknowledged hands them to one that uses ACKs; the measurements of those are of the model.
type acknowledged struct {
	rp.Acknowledged
	by *controller
}

func (a acknowledged) Acked(now unit.Time, ack rp.Ack) { a.Acknowledged.Acked(a.by.cameAt(now), ack) }
func (a acknowledged) Lost(now unit.Time)              { a.Acknowledged.Lost(a.by.read(now)) }

// judge hands them to one that refuses frames.
type judge struct {
	of rp.Judge
	by *controller
}

func (j judge) Refuses(now unit.Time, f wire.Frame) trace.Reason {
	return j.of.Refuses(j.by.read(now), f)
}
