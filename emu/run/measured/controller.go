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
	timed := extras{x, c}
	if x.Sender != nil {
		x.Sender = timed
	}
	if x.Judge != nil {
		x.Judge = timed
	}
	if x.Acknowledged != nil {
		x.Acknowledged = timed
	}
	return x
}

// extras hands measured instants to the extras of a reaction point: as it sends frames, refuses
// some, and uses ACKs, whose own measurements are of the model.
type extras struct {
	rp.Extras
	by *controller
}

func (x extras) Send(now unit.Time) (wire.Frame, bool) { return x.Sender.Send(x.by.read(now)) }
func (x extras) Refuses(now unit.Time, f wire.Frame) trace.Reason {
	return x.Judge.Refuses(x.by.read(now), f)
}
func (x extras) Acked(now unit.Time, ack rp.Ack) { x.Acknowledged.Acked(x.by.cameAt(now), ack) }
func (x extras) Lost(now unit.Time)              { x.Acknowledged.Lost(x.by.read(now)) }
func (x extras) Window() unit.Size               { return x.Acknowledged.Window() }
