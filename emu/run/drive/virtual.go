package drive

import (
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Virtual runs a fabric on the virtual clock: from event to event, as fast as the processor can.
// The same fabric always gives the same events.
type Virtual struct {
	// SkipCodec hands frames over as values. By default each goes through its bytes, as on a
	// socket, so that nothing works only because two nodes share memory. Several domains always
	// hand over values.
	SkipCodec bool
}

// send sends a frame of a node by the path that begins at its port.
func (o *order) send(s *slotted, t *port.Transmission) error {
	slot := o.leaving[int(s.first)+int(t.Port)]
	if o.carry != nil {
		return o.carry(slot, t)
	}
	o.pass(t, slot, &o.paths[slot])
	return nil
}

// handOver carries a frame that a Tap sees, as a value or through its bytes.
func (o *order) handOver(slot int32, t *port.Transmission) error {
	p := &o.paths[slot]
	if o.fabric.Tap != nil {
		o.fabric.Tap.Sent(int(p.number), t, o.fabric.Bodies.Of(&t.Frame), o.now, 0, 0)
	}
	if o.buf == nil {
		o.pass(t, slot, p)
		return nil
	}
	seq := p.seq + uint32(p.count)
	o.buf = o.fabric.encode(o.buf[:0], t, o.fabric.Bodies.Of(&t.Frame), p, seq, t.Due)
	return o.arrive(t, slot, o.buf, seq)
}

// pass puts a frame in flight as a value.
func (o *order) pass(t *port.Transmission, slot int32, p *path) {
	o.push(slot, p, t.Due).take(t)
}

// Stepped runs a fabric on the virtual clock for programs outside: model time passes only while
// step returns true. It ends with the error of step, which is called before each event, or when the
// time of f is over. The result is the time of the last event.
func Stepped(f *Setup, step func() (bool, error)) (unit.Time, error) {
	o, err := newOrder(f, true)
	if err != nil {
		return 0, err
	}
	for {
		if err = f.Outside.Look(func(node int, p port.ID, c port.Change) unit.Time {
			o.insert(Change{At: o.now + 1, Node: node, Port: p, Makes: c})
			return o.now + 1
		}); err != nil {
			return o.now, err
		}
		passes, err := step()
		if err == nil && passes {
			if _, t := o.next(); t >= f.End {
				return o.now, nil
			}
			err = o.run(f.End, 1)
		}
		if err != nil {
			return o.now, err
		}
	}
}
