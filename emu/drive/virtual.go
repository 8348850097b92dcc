package drive

import (
	"context"
	"fmt"

	"fabemu/wire"
	"fabemu/wire/port"
)

// Virtual runs a fabric on the virtual clock: from event to event, as fast as the
// processor goes. The same fabric gives the same events, always.
type Virtual struct {
	// SkipCodec hands frames over as values. By default each goes through bytes, as
	// on a socket, so that nothing works only because two machines share memory.
	SkipCodec bool
}

// Run runs f to its end, or until ctx is done. It returns how many frames were
// handed over, hop by hop.
func (v Virtual) Run(ctx context.Context, f *Fabric) (hops int64, err error) {
	if f.Loops != nil {
		return v.runLoops(ctx, f)
	}
	o, err := newOrder(f, f.Machines, true)
	if err != nil {
		return 0, err
	}
	if !v.SkipCodec {
		c := codec{order: o, buf: make([]byte, 0, MaxDatagram)}
		o.carry = c.carry
	}
	done := ctx.Done()
	for {
		_, t := o.next()
		f.Progress.at(min(t, f.End))
		if f.Visitor != nil && f.Visitor.Wanted() {
			f.Visitor.Visit(&Visit{Now: o.now, Hops: o.hops, Watch: f.Watch})
		}
		select {
		case <-done:
			return o.hops, ctx.Err()
		default:
		}
		over, err := o.run(f.End, stepsBetween)
		if over || err == errDeadlocked {
			f.Progress.at(f.End)
			return o.hops, nil
		}
		if err != nil {
			return o.hops, err
		}
	}
}

// stepsBetween is after how many events a run looks whether it is to stop, and lets a visitor in.
const stepsBetween = 1 << 12

// handOver carries a frame as a value.
func (o *order) handOver(s *seat, t *port.Transmission) {
	slot := o.leaving[int(s.first)+int(t.Port)]
	p := &o.paths[slot]
	if o.fabric.Tap != nil {
		o.tapped(p, t)
	}
	f := o.push(p)
	f.arrived = true
	a := &f.arrival
	a.Frame = t.Frame // an assignment to all at once would copy it twice
	a.Head, a.Tail, a.Length, a.Late = t.Start, t.Start.Add(t.Duration), t.Length, 0
	o.expect(slot, p, f, t.Due)
}

// tapped tells the tap of a frame that was sent.
func (o *order) tapped(p *path, t *port.Transmission) {
	o.fabric.Tap.Sent(int(p.number), t, o.fabric.Bodies.Of(&t.Frame), o.now, 0, 0)
}

// codec carries frames through their bytes.
type codec struct {
	*order
	buf []byte
}

func (c *codec) carry(m int, t *port.Transmission) error {
	p, flight := c.send(&c.seats[m], t)
	seq := p.seq + uint32(p.count) - 1
	c.buf = c.fabric.encode(c.buf[:0], t, c.fabric.Bodies.Of(&t.Frame), p, seq)
	got, a, body, err := c.fabric.decode(c.buf, p)
	if err != nil || got != seq {
		return errCodec(m, t, err)
	}
	if c.fabric.Tap != nil {
		c.tapped(p, t)
	}
	c.fabric.Bodies.Free(&t.Frame)
	c.arrive(flight, a, body)
	return nil
}

// through returns a frame as its bytes say it, with its number on its path. It has no body.
func (c *codec) through(m int, t *port.Transmission, p *path, seq uint32) (port.Arrival, error) {
	c.buf = c.fabric.encode(c.buf[:0], t, wire.Body{}, p, seq)
	got, a, _, err := c.fabric.decode(c.buf, p)
	if err != nil || got != seq {
		return a, errCodec(m, t, err)
	}
	return a, nil
}

// errCodec is that of a frame that does not come out of its bytes as it went in.
func errCodec(m int, t *port.Transmission, err error) error {
	return fmt.Errorf("machine %d, port %d: a frame did not survive its own encoding: %w; this is a bug", m, t.Port, err)
}
