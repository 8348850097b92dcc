package port

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// Line is the transmitter of a port. It serialises one frame after another at
// its rate; a link has one in each direction.
type Line struct {
	rate        unit.Rate
	propagation unit.Duration // time of flight of the first bit
	cut         bool          // the peer acts once it has a frame's header, not only on all of it

	free unit.Time // the line is idle from here on
	due  unit.Time // due time of the last frame: it never decreases

	// The last length and its duration: frames come in few lengths, and the
	// division is the dearest step of a start.
	length   unit.Size
	duration unit.Duration
	header   unit.Duration // of wire.HeaderSize
}

// newLine returns an idle line.
func newLine(r unit.Rate, propagation unit.Duration, cut bool) Line {
	l := Line{propagation: propagation, cut: cut}
	l.SetRate(r)
	return l
}

// Free returns the instant from which the line is idle.
func (l *Line) Free() unit.Time { return l.free }

// Rate returns the rate of the next frame.
func (l *Line) Rate() unit.Rate { return l.rate }

// SetRate changes the rate from the next frame on; a frame begun completes at its
// old rate.
func (l *Line) SetRate(r unit.Rate) {
	l.rate, l.length, l.header = r, -1, r.Serialise(wire.HeaderSize)
}

// Serialise returns how long a frame of length n takes the line.
func (l *Line) Serialise(n unit.Size) unit.Duration {
	if n == 0 {
		return 0
	}
	if n != l.length {
		l.length, l.duration = n, l.rate.Serialise(n)
	}
	return l.duration
}

// start puts a frame of length n on the line at the instant t, and returns how
// long it takes and when the peer may act on it: its header (cut-through) or its
// tail, after the propagation. Control frames are acted on when they are whole,
// but never before what was sent ahead of them: a flow control packet that
// overtook data would overdraw the buffer (design: the on-time rule). It panics
// when the line is busy: the caller has not asked.
func (l *Line) start(t unit.Time, n unit.Size, control bool) (unit.Duration, unit.Time) {
	if t < l.free {
		panic("port: started on a busy line")
	}
	d := l.Serialise(n)
	read := d
	if l.cut && !control {
		read = min(d, l.header)
	}
	l.free = t.Add(d)
	l.due = max(l.due, t.Add(read).Add(l.propagation))
	return d, l.due
}
