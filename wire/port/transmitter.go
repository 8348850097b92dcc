package port

import "fabemu/wire/unit"

// Transmitter is the transmitter of a port. It serialises one frame after another at its rate. A link has one in each
// direction.
type Transmitter struct {
	medium *medium
	free   unit.Time // the line is idle from here on
	due    unit.Time // due time of the last frame: it never decreases
}

// Free returns the instant from which the transmitter is idle.
func (l *Transmitter) Free() unit.Time { return l.free }

// Rate returns the rate of the next frame.
func (l *Transmitter) Rate() unit.Rate { return l.medium.rate }

// SetRate changes the rate from the next frame on. A frame that has begun completes at its old rate.
func (l *Transmitter) SetRate(r unit.Rate) { l.medium = l.medium.at(r) }

// Serialise returns how long a frame of length n occupies the link.
func (l *Transmitter) Serialise(n unit.Size) unit.Duration { return l.medium.of(n).duration }

// start sends a frame from the instant t until end. The peer may act on it at t plus after, but never before it may
// act on the frame sent ahead of it, because a flow control packet that overtook data would overdraw the buffer
// (design: the on-time rule). It panics if the transmitter is busy, because then the caller has not asked.
func (l *Transmitter) start(t, end unit.Time, after unit.Duration) {
	if t < l.free {
		panic("port: started on a busy link")
	}
	l.free, l.due = end, max(l.due, t.Add(after))
}
