package port

import "fabemu/wire/unit"

// Line is the transmitter of a port. It serialises one frame after another at
// its rate; a link has one in each direction.
type Line struct {
	medium *medium
	free   unit.Time // the line is idle from here on
	due    unit.Time // due time of the last frame: it never decreases
}

// Free returns the instant from which the line is idle.
func (l *Line) Free() unit.Time { return l.free }

// Rate returns the rate of the next frame.
func (l *Line) Rate() unit.Rate { return l.medium.rate }

// SetRate changes the rate from the next frame on; a frame begun completes at its
// old rate.
func (l *Line) SetRate(r unit.Rate) { l.medium = l.medium.at(r) }

// Serialise returns how long a frame of length n takes the line.
func (l *Line) Serialise(n unit.Size) unit.Duration { return l.medium.serialise(n) }

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
	m := l.medium
	d := m.serialise(n)
	l.free = t.Add(d)
	read := l.free
	if m.cut && !control {
		read = t.Add(min(d, m.header))
	}
	l.due = max(l.due, read.Add(m.propagation))
	return d, l.due
}
