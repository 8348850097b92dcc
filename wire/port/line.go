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
func (l *Line) Serialise(n unit.Size) unit.Duration { return l.medium.of(n).duration }

// start puts a frame on the line at the instant t that takes it until end, and on which the
// peer may act so long after t, but never before the frame that was sent ahead of it: a flow
// control packet that overtook data would overdraw the buffer (design: the on-time
// rule). It panics when the line is busy: the caller has not asked.
func (l *Line) start(t, end unit.Time, after unit.Duration) {
	if t < l.free {
		panic("port: started on a busy line")
	}
	l.free, l.due = end, max(l.due, t.Add(after))
}
