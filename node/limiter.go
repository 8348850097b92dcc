package node

import "fabemu/wire/unit"

// RateLimiter turns a rate into instants: it decides when the next packet of a flow may start.
// It sees only starts; the port decides whether the link and the credit permit one.
//
// A limiter can rely on the following, on both clocks and with both timings:
//
//   - Instants never decrease, over all calls of all three methods.
//   - Sent is at or after the instant that the last Next returned, and that Next let the packet
//     start: it returned the instant of its call.
//   - Sent is for the number of bytes that Next was asked for, or fewer: if the packets of a
//     flow have bodies, the length of the next one is not known until it starts.
//   - Calls come one at a time. SetRate may come at any time, also between the Next that lets a
//     packet start and its Sent: the packet starts all the same.
//
// All instants are of model time. With actual timing they are measured: package emu/run/measured
// chooses the instants that a limiter receives, so that lateness does not add up.
//
// In return a limiter must not allocate, must not return instants before now, and must let the
// packet start at the instant that it has returned, unless its rate has changed, no matter how
// often it is asked before. Package emu/limitertest checks both sides. If a limiter has a method
// Rate() unit.Rate, this reports its mean rate, which results then give as the limit of the flow,
// instead of the rate that it was set to. If it has a method Burst() unit.Size, it promises that
// at most this many bytes start at once, in excess of its rate.
type RateLimiter interface {
	// Next returns the earliest instant at which n bytes may start: now or later; unit.Never if
	// only a change of the rate would permit them.
	Next(now unit.Time, n unit.Size) unit.Time
	// Sent is called when n bytes have started at now.
	Sent(now unit.Time, n unit.Size)
	// SetRate changes the rate from now on; 0 permits nothing.
	SetRate(now unit.Time, r unit.Rate)
}

// InterPacketDelay is the rate limiter of HPL-2002-224: a packet starts no earlier than the time
// that the packet before it takes at the flow's rate, from start to start. Unused time is lost, so
// there are no bursts. A change of the rate takes effect at once, also for the current delay.
type InterPacketDelay struct {
	rate  unit.Rate
	last  unit.Time     // start of the last packet
	size  unit.Size     // its length; 0 before the first
	delay unit.Duration // from its start to the next one
	next  unit.Time     // when that is
}

// NewInterPacketDelay returns a limiter at rate r.
func NewInterPacketDelay(r unit.Rate) *InterPacketDelay { return &InterPacketDelay{rate: r} }

// Next returns the start of the last packet plus the delay, or now.
func (l *InterPacketDelay) Next(now unit.Time, _ unit.Size) unit.Time { return max(now, l.next) }

func (l *InterPacketDelay) Rate() unit.Rate { return l.rate }

// Sent begins a new delay.
func (l *InterPacketDelay) Sent(now unit.Time, n unit.Size) {
	if n != l.size {
		l.size, l.delay = n, l.rate.Serialise(n)
	}
	l.last, l.next = now, now.Add(l.delay)
}

// SetRate changes the current delay and all later ones.
func (l *InterPacketDelay) SetRate(_ unit.Time, r unit.Rate) {
	if r == l.rate {
		return
	}
	l.rate = r
	if l.size > 0 {
		l.delay = r.Serialise(l.size)
		l.next = l.last.Add(l.delay)
	}
}

// Segments is the rate limiter of TIMELY: packets of a segment start back to back, and the next
// segment starts no earlier than the time that this one takes at the flow's rate, from start to
// start. A segment ends when it is full, or when its time is over.
type Segments struct {
	InterPacketDelay
	most unit.Size // bytes of a segment; a longer packet is one
}

// NewSegments returns a limiter at rate r with segments of at most the given number of bytes.
func NewSegments(r unit.Rate, most unit.Size) *Segments {
	return &Segments{InterPacketDelay{rate: r}, most}
}

// goesOn reports whether a packet of n bytes is in the segment of the one before it.
func (l *Segments) goesOn(now unit.Time, n unit.Size) bool {
	return l.rate > 0 && l.size > 0 && now < l.next && l.size+n <= l.most
}

// Next returns now within a segment; otherwise the start of the last segment plus its delay, or now
// if that is later.
func (l *Segments) Next(now unit.Time, n unit.Size) unit.Time {
	if l.goesOn(now, n) {
		return now
	}
	return l.InterPacketDelay.Next(now, n)
}

// Sent adds a packet to its segment, or begins a new segment.
func (l *Segments) Sent(now unit.Time, n unit.Size) {
	if !l.goesOn(now, n) {
		l.InterPacketDelay.Sent(now, n)
		return
	}
	l.size += n
	l.delay = l.rate.Serialise(l.size)
	l.next = l.last.Add(l.delay)
}

// Burst returns how many bytes may start at once: the rest of a segment, and the next one.
func (l *Segments) Burst() unit.Size { return 2 * l.most }
