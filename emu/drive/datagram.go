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

// encode appends a transmission as it stands in a datagram.
func encode(b []byte, t *port.Transmission, p *path, seq, run uint32) []byte {
	b = t.Frame.Append(b)
	trailer := wire.Trailer{
		Head: t.Start, Due: t.Due, Promise: t.Due, Duration: t.Duration, Length: t.Length,
		Seq: seq, Run: run, Port: uint16(p.number), Delimiter: t.Frame.Delimiter(),
	}
	return trailer.Append(b)
}

// errForeign is the reason to drop a datagram that is well formed but not of this
// run or not of this link.
var errForeign = errors.New("drive: a datagram of another run or link")

// decode reads a datagram that came on a path.
func decode(b []byte, p *path, run uint32) (seq uint32, a port.Arrival, err error) {
	seq, _, a, err = decodeDue(b, p, run)
	return seq, a, err
}

// decodeDue is decode for a receiver that does not know when the frame is due.
func decodeDue(b []byte, p *path, run uint32) (seq uint32, due unit.Time, a port.Arrival, err error) {
	t, frame, err := wire.ParseTrailer(b)
	if err != nil {
		return 0, 0, a, err
	}
	if t.Run != run || t.Port != uint16(p.number) || t.Incarnation != 0 {
		return 0, 0, a, errForeign
	}
	f, err := wire.Parse(t.Delimiter, frame)
	if err != nil {
		return 0, 0, a, err
	}
	return t.Seq, t.Due, port.Arrival{Frame: f, Head: t.Head, Tail: t.Head.Add(t.Duration), Length: t.Length}, nil
}
