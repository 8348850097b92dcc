package scenario

import (
	"fmt"

	"fabemu/emu/scenario/yaml"
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

// newRetry returns the retry of a link; the fitted values are not computed yet.
func newRetry(v yaml.View) (r Retry) {
	sub := v.Sub("retry")
	if sub.Present() {
		r = yaml.Build[Retry](sub)
		r.Unprotected = prioritiesOf(sub, "unprotected", 0)
		r.Eligible = uint8(^r.Unprotected)
	}
	return r
}

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

// checkRetries computes the profiles of links with retry, and refuses those that cannot work.
func (r *resolver) checkRetries() {
	for l, of := range each(r.s.Links, r.links) {
		if !l.Retry.On() {
			continue
		}
		p, v, at, t := &l.Retry.Profile, of.view.Sub("retry"), of.Spot, r.RetryTimes(of.index)
		p.Complete(t.Rate, t.Flight, t.Largest)
		switch {
		case p.Bytes < t.Largest:
			r.Add(v.Spot("bytes", at), "the retry of link %s may hold %v, and a frame has %v: none could leave; give it at least %v, or leave bytes out",
				l.Name, p.Bytes, t.Largest, retry.BytesIn(t.Rate, t.ACK)+t.Largest)
		case p.Timer <= t.ACK:
			r.Add(v.Spot("timer", at), "the replay timer of link %s, %v, expires before an ACK can arrive, and frames would be retransmitted for nothing. %s; give it more than that, or leave timer out",
				l.Name, p.Timer, t)
		case p.DataAge > 0 && p.DataAge <= p.Timer:
			r.Add(v.Spot("data-age", at), "the retry of link %s abandons a frame after %v, before its replay timer, %v, has started a single replay: data-age must be above it",
				l.Name, p.DataAge, p.Timer)
		}
	}
}
