package drive

import (
	"errors"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// MaxDatagram is the size of the largest frame with its trailer, in bytes: what a
// link must carry.
const MaxDatagram = wire.MaxFrameSize + wire.TrailerSize

// encode appends a transmission as it stands in a datagram, with the body of its frame.
func (f *Fabric) encode(b []byte, t *port.Transmission, body wire.Body, p *path, seq uint32) []byte {
	return f.encodeAs(b, t, body, p, 0, seq, t.Due)
}

// encodeAs is encode for a sender that was started anew so many times, with its promise of when the next frame
// on the path is due at the earliest.
func (f *Fabric) encodeAs(b []byte, t *port.Transmission, body wire.Body, p *path, incarnation uint16, seq uint32,
	promise unit.Time) []byte {
	b = t.Frame.AppendBody(b, body)
	trailer := wire.Trailer{
		Secret: f.Secret,
		Head:   t.Start, Due: t.Due, Promise: promise, Duration: t.Duration, Length: t.Length,
		Seq: seq, Run: f.Run, Port: uint16(p.number), Incarnation: incarnation, Delimiter: t.Frame.Delimiter(),
	}
	return trailer.Append(b)
}

// errForeign is the reason to drop a datagram that is well formed but not of this
// run or not of this link.
var errForeign = errors.New("drive: a datagram of another run or link")

// decode reads a datagram that came on a path. The body of its frame is a part of b.
func (f *Fabric) decode(b []byte, p *path) (seq uint32, a port.Arrival, body wire.Body, err error) {
	t, a, body, err := f.decodeAny(b, p)
	if err == nil && t.Incarnation != 0 {
		err = errForeign
	}
	return t.Seq, a, body, err
}

// decodeAny is decode for a receiver that does not know what was sent: when the frame
// is due and which process has sent it stand in the trailer.
func (f *Fabric) decodeAny(b []byte, p *path) (t wire.Trailer, a port.Arrival, body wire.Body, err error) {
	t, frame, err := wire.ParseTrailer(b)
	if err != nil {
		return t, a, body, err
	}
	if !t.Secret.Equal(f.Secret) || t.Run != f.Run || t.Port != uint16(p.number) {
		return t, a, body, errForeign
	}
	parsed, body, err := wire.ParseBody(t.Delimiter, frame)
	if err != nil {
		return t, a, body, err
	}
	return t, port.Arrival{Frame: parsed, Head: t.Head, Tail: t.Head.Add(t.Duration), Length: t.Length}, body, nil
}

// arrive notes that a frame has come, with its body.
func (o *order) arrive(f *flight, a port.Arrival, body wire.Body) {
	f.arrival, f.arrived = a, true
	if body.Type != 0 && o.fabric.Bodies != nil {
		o.fabric.Bodies.Put(&f.arrival.Frame, body)
	}
}
