package drive

import (
	"context"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Virtual runs a fabric on the virtual clock: from event to event, as fast as the processor can. The same fabric
// always gives the same events.
type Virtual struct {
	// SkipCodec hands frames over as values. By default each goes through its bytes, as on a socket, so that nothing
	// works only because two nodes share memory.
	SkipCodec bool
}

// Run runs f to its end, or until ctx is done. It returns how many frames were handed over, counted at each hop.
func (v Virtual) Run(ctx context.Context, f *Setup) (hops int64, err error) {
	if f.Domains != nil {
		return runDomains(ctx, f)
	}
	o, err := newOrder(f, f.Nodes, true)
	if err != nil {
		return 0, err
	}
	if !v.SkipCodec {
		o.carry = (&codec{order: o, buf: make([]byte, 0, MaxDatagram)}).carry
	}
	if err = o.loop(&free{order: o, ctx: ctx, done: ctx.Done()}); err != nil && ctx.Err() != nil {
		o.interrupt()
	}
	return o.hops, err
}

// free is the gate of the virtual clock, which does not wait.
type free struct {
	*order
	ctx  context.Context
	done <-chan struct{}
}

// stepsBetween is the number of events after which a run looks whether it is to stop, and lets a visitor in.
const stepsBetween = 1 << 12

func (g *free) open() (until unit.Time, most int, err error) {
	f := g.fabric
	_, t := g.next()
	f.Progress.Reach(min(t, f.End))
	if f.Visitor != nil && f.Visitor.Wanted() {
		f.Visitor.Visit(&Visit{Now: g.now, Watch: f.Watch})
	}
	select {
	case <-g.done:
		return 0, 0, g.ctx.Err()
	default:
	}
	if t >= f.End {
		return 0, 0, errOver
	}
	return f.End, stepsBetween, nil
}

// handOver carries a frame as a value.
func (o *order) handOver(s *slotted, t *port.Transmission) {
	slot := o.leaving[int(s.first)+int(t.Port)]
	p := &o.paths[slot]
	if o.fabric.Tap != nil {
		o.fabric.Tap.Sent(int(p.number), t, o.fabric.Bodies.Of(&t.Frame), o.now, 0, 0)
	}
	o.pass(t, slot, p)
}

// pass puts a frame in flight as a value.
func (o *order) pass(t *port.Transmission, slot int32, p *path) {
	f := o.push(p)
	f.take(t)
	o.expect(slot, p, f, t.Due)
}

// codec carries frames through their bytes.
type codec struct {
	*order
	buf []byte
}

func (c *codec) carry(from *slotted, t *port.Transmission) error {
	slot := c.leaving[int(from.first)+int(t.Port)]
	p := &c.paths[slot]
	if c.fabric.Tap != nil {
		c.fabric.Tap.Sent(int(p.number), t, c.fabric.Bodies.Of(&t.Frame), c.now, 0, 0)
	}
	seq := p.seq + uint32(p.count)
	c.buf = c.fabric.encode(c.buf[:0], t, c.fabric.Bodies.Of(&t.Frame), p, seq, t.Due)
	return c.arrive(t, slot, c.buf, seq)
}
