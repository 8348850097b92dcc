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

// Reaction returns r in measured time. One that never does anything stays as it is; there may be
// none.
func (p *Pacing) Reaction(r rp.Reaction) rp.Reaction {
	if _, fixed := r.Controller.(*rp.Fixed); fixed || r.Controller == nil {
		return r
	}
	p.reacts = true
	c := &controller{Controller: r.Controller, time: p}
	r.Controller = c
	if send := r.Send; send != nil {
		r.Send = func(now unit.Time) (wire.Frame, bool) { return send(c.read(now)) }
	}
	if refuses := r.Refuses; refuses != nil {
		r.Refuses = func(now unit.Time, f wire.Frame) trace.Reason { return refuses(c.read(now), f) }
	}
	if ended := r.Ended; ended != nil {
		r.Ended = func(now unit.Time) { ended(c.read(now)) }
	}
	if r.Acknowledged != nil {
		r.Acknowledged = acknowledged{r.Acknowledged, c}
	}
	if trimmed := r.Trimmed; trimmed != nil {
		r.Trimmed = func(now unit.Time, t rp.Trim) { trimmed(c.cameAt(now), t) }
	}
	if expired := r.Expired; expired != nil {
		r.Expired = func(now unit.Time, n unit.Size) { expired(c.cameAt(now), n) }
	}
	if demand := r.Demand; demand != nil {
		r.Demand = func(now unit.Time, n unit.Size) { demand(c.startsAt(now), n) }
	}
	return r
}

// read returns the instant to hand over at an event of now.
func (c *controller) read(now unit.Time) unit.Time {
	c.handed = c.time.read(now)
	return c.handed
}

// Sent reports a start, at the instant of the model.
func (c *controller) Sent(now unit.Time, n unit.Size) { c.Controller.Sent(c.startsAt(now), n) }

// startsAt returns the instant of a start at now.
func (c *controller) startsAt(now unit.Time) unit.Time {
	c.handed = max(c.handed, now)
	return c.handed
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

// acknowledged hands measured instants to the part of a reaction point that uses ACKs, whose own
// measurements are of the model.
type acknowledged struct {
	rp.Acknowledged
	by *controller
}

func (x acknowledged) Acked(now unit.Time, ack rp.Ack) { x.Acknowledged.Acked(x.by.cameAt(now), ack) }
func (x acknowledged) Lost(now unit.Time)              { x.Acknowledged.Lost(x.by.cameAt(now)) }
