package scenario

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/retry"
	"fabemu/wire/unit"
)

// Retry is the retry of a link.
type Retry struct {
	retry.Profile
	// Ethernet: priorities whose frames are sent unprotected.
	Unprotected Priorities `key:"unprotected" form:"priorities" omit:"usual"`
}

// On reports whether the link has retry.
func (r *Retry) On() bool { return r.Count > 0 }

// RetryTimes are what the profile of a link with retry depends on.
type RetryTimes struct {
	Rate    unit.Rate     // the lowest of the link in the run
	Flight  unit.Duration // of a frame, with delays by faults
	Largest unit.Size     // frame that may cross the link
	Spacing unit.Size     // of ACKs
	ACK     unit.Duration // until the ACK of a frame arrives, at most
}

// String explains how long an ACK takes.
func (t RetryTimes) String() string {
	return fmt.Sprintf("An ACK takes up to %v: %v in each direction, and at %v %v for its spacing of %v, a frame of %v that has just started, and the ordered set",
		t.ACK, t.Flight, t.Rate, t.Rate.Serialise(t.Spacing+t.Largest+wire.OrderedSetSize), t.Spacing, t.Largest)
}

// CompleteRetries computes the values of retry that are not given.
func (r *Site) CompleteRetries() {
	for i := range r.Links {
		if l := &r.Links[i]; l.Retry.On() {
			t := r.RetryTimes(i)
			l.Retry.Complete(t.Rate, t.Flight, t.Largest)
		}
	}
}

// RetryTimes returns what the profile of a link with retry depends on.
func (r *Site) RetryTimes(link int) RetryTimes {
	l := &r.Links[link]
	t := RetryTimes{Flight: l.Propagation + r.Latest(l)}
	t.Largest = r.Model.Framing.Length(&wire.Frame{Kind: wire.Data, Family: l.Family(), Payload: wire.MinMSDU})
	for side := range r.crossed[link] {
		t.Largest = max(t.Largest, r.crossed[link][side].longest)
	}
	t.Rate, _ = r.Rates(l)
	t.Spacing, t.ACK = l.Retry.Spacing, l.Retry.AckTime(t.Rate, t.Flight, t.Largest)
	return t
}
