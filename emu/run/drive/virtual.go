package drive

import "fabemu/wire/port"

// Virtual runs a fabric on the virtual clock: from event to event, as fast as the processor can. The same fabric
// always gives the same events.
type Virtual struct {
	// SkipCodec hands frames over as values. By default each goes through its bytes, as on a socket, so that nothing
	// works only because two nodes share memory. Several domains always hand over values.
	SkipCodec bool
}

// send sends a frame of a node by the path that begins at its port: as a value, through its bytes, or as the driver
// carries it.
func (o *order) send(s *slotted, t *port.Transmission) error {
	slot := o.leaving[int(s.first)+int(t.Port)]
	if o.carry != nil {
		return o.carry(slot, t)
	}
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
	f := o.push(p)
	f.take(t)
	o.expect(slot, p, f, t.Due)
}
