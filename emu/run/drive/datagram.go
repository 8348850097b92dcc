package drive

import (
	"errors"
	"fmt"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// MaxDatagram is the size in bytes of the largest frame with its preamble and trailer. Every link
// must be able to carry it.
const MaxDatagram = wire.MaxFrameSize + wire.PreambleSize + wire.TrailerSize

// encode appends a transmission as it is in a datagram, with the body of its frame. The next frame
// on the path is not due before the promise.
func (f *Setup) encode(b []byte, t *port.Transmission, body wire.Body, p *path, seq uint32, promise unit.Time) []byte {
	b = t.Frame.AppendBody(b, body)
	trailer := wire.Trailer{
		Secret: f.Secret,
		Head:   t.Start, Due: t.Due, Promise: promise, Duration: t.Duration, Length: t.Length,
		Seq: seq, Run: f.Run, Port: uint16(p.number), Delimiter: t.Frame.Delimiter(),
	}
	if t.Preamble != 0 {
		trailer.Preamble = t.Preamble
		return trailer.AppendPreamble(b)
	}
	return trailer.Append(b)
}

// errForeign is the reason to drop a datagram that is well formed but not of this
// run or not of this link.
var errForeign = errors.New("drive: a datagram of another run or link")

// decode reads a datagram of this run into t, and into a and body, which are zero. The body of its
// frame is a part of b. The caller compares the path, which is in the trailer. The frame of a
// guest, which does not name its flow, is not read: it stays zero.
func (f *Setup) decode(b []byte, t *wire.Trailer, a *port.Arrival, body *wire.Body) error {
	frame, err := t.Read(b)
	if err != nil {
		return err
	}
	if !t.Secret.Equal(f.Secret) || t.Run != f.Run {
		return errForeign
	}
	if t.Delimiter != wire.GuestFrame {
		err = a.Frame.ReadBody(body, t.Delimiter, frame)
	}
	a.Head, a.Tail, a.Length, a.Preamble = t.Head, t.Head.Add(t.Duration), t.Length, t.Preamble
	return err
}

// arrive decodes the bytes of a frame of this driver, which has a number on its path, and puts the
// frame in flight. The frame of a guest stays as it was sent.
func (o *order) arrive(t *port.Transmission, slot int32, b []byte, seq uint32) error {
	p := &o.paths[slot]
	if t.Frame.Family == wire.Guest {
		o.pass(t, slot, p)
		return nil
	}
	f := o.push(slot, p, t.Due)
	f.arrival = port.Arrival{}
	var body wire.Body
	err := o.fabric.decode(b, &o.trailer, &f.arrival, &body)
	if err != nil || o.trailer.Seq != seq || o.trailer.Port != uint16(p.number) {
		from := o.from(p)
		err = fmt.Errorf("node %d, port %d: a frame did not survive its own encoding: %w; this is a bug", from.Node, from.Port, err)
	}
	o.fabric.Bodies.Free(&t.Frame)
	o.enter(f, body)
	return err
}

// enter keeps the body of a frame in flight.
func (o *order) enter(f *flight, body wire.Body) {
	if body.Type != 0 && o.fabric.Bodies != nil {
		o.fabric.Bodies.Put(&f.arrival.Frame, body)
	}
}
