package pace

import "time"

// HostClock describes the clock of a part on another host. The conductor measures it as NTP does (RFC 5905, section 8),
// over its connection to the part: the conductor records when it sends the request and when the reply arrives, the
// part when the request arrived and when it replies. Of several rounds the one with the shortest round trip counts.
type HostClock struct {
	Part      string
	Offset    time.Duration // by which the part's clock is ahead, at the start
	RoundTrip time.Duration // the shortest
	// Drift is by how much more it was ahead at the end. Error is the largest difference that it may have had, at
	// any time, from the offset that the run used: half of the round trip at the start, or half of the round trip at
	// the end plus the drift. Measured is set if the clock was read at the end; otherwise Error holds for the start.
	Drift    time.Duration
	Error    time.Duration
	Measured bool
}
