package node

import "fabemu/wire/unit"

// RateLimiter turns a rate into instants: it decides when the next packet of a flow
// may start. It sees only starts; whether the line or the credit allows it is the
// port's matter.
//
// A limiter can rely on this, on both clocks and under both timings:
//
//   - Instants never decrease, over all calls of all three methods.
//   - Sent is at or after the instant that the last Next gave, and that Next let the
//     packet start: it gave the instant that it was asked for.
//   - Sent is for the bytes that Next was asked for, or fewer: of a flow whose packets have
//     bodies the length of the next one is not known until it starts.
//   - Calls come one at a time. SetRate may come at any time, also between the Next
//     that lets a packet start and its Sent: the packet starts all the same.
//
// All instants are of model time. Under actual timing they are measured: package
// emu/run/measured decides which a limiter is handed, so that lateness does not add up.
//
// In return a limiter must not allocate, gives instants that are not before now, and gives an instant at which
// it then lets the packet start, unless its rate has changed, however often it is asked before.
// Package emu/limitertest checks both sides. A limiter that has a method Rate() unit.Rate
// reports by it the rate that it lets through in the mean; that is then the limit of the flow in
// results, in place of the rate that it was given. One that has a method Burst() unit.Size
// promises by it that no more bytes than that start at once beside its rate.
type RateLimiter interface {
	// Next returns the earliest instant at which n bytes may start: now, or later;
	// unit.Never when only another rate would let them.
	Next(now unit.Time, n unit.Size) unit.Time
	// Sent notes that n bytes started at now.
	Sent(now unit.Time, n unit.Size)
	// SetRate changes the rate from now on; 0 is no rate.
	SetRate(now unit.Time, r unit.Rate)
}

// InterPacketDelay is the rate limiter of HPL-2002-224: a packet starts no sooner
// than the packet before it would take at the flow's rate, from start to start.
// Time that passes unused is not made up for: there are no bursts. A change of the
// rate counts at once, also for the delay that runs.
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

// Rate returns the rate.
func (l *InterPacketDelay) Rate() unit.Rate { return l.rate }

// Sent begins a new delay.
func (l *InterPacketDelay) Sent(now unit.Time, n unit.Size) {
	if n != l.size {
		l.size, l.delay = n, l.rate.Serialise(n)
	}
	l.last, l.next = now, now.Add(l.delay)
}

// SetRate changes the delay that runs, and those to come.
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

// Segments is the rate limiter of TIMELY: packets of a segment start back to back, and the next segment
// no sooner than this one would take at the flow's rate, from start to start. A segment ends when it is full, or when
// its time is over.
type Segments struct {
	InterPacketDelay
	most unit.Size // bytes of a segment; a longer packet is one
}

// NewSegments returns a limiter at rate r of segments of so many bytes at the most.
func NewSegments(r unit.Rate, most unit.Size) *Segments {
	return &Segments{InterPacketDelay{rate: r}, most}
}

// goesOn reports whether a packet of n bytes is in the segment of the one before it.
func (l *Segments) goesOn(now unit.Time, n unit.Size) bool {
	return l.rate > 0 && l.size > 0 && now < l.next && l.size+n <= l.most
}

// Next returns now in a segment, and else the start of the last one plus its delay, or now.
func (l *Segments) Next(now unit.Time, n unit.Size) unit.Time {
	if l.goesOn(now, n) {
		return now
	}
	return l.InterPacketDelay.Next(now, n)
}

// Sent adds a packet to its segment, or begins another.
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
