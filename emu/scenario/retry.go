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

// newRetry returns the retry of a link; the fitted values are not computed yet.
func newRetry(v view) (r Retry) {
	sub := v.sub("retry")
	if sub.present() {
		r = build[Retry](sub)
		r.Unprotected = prioritiesOf(sub, "unprotected", 0)
		r.Eligible = uint8(^r.Unprotected)
	}
	return r
}

// checkRetries computes the profiles of links with retry, and refuses those that cannot work.
func (r *resolver) checkRetries() {
	for l, of := range each(r.s.Links, r.links) {
		if !l.Retry.On() {
			continue
		}
		p, v, at := &l.Retry.Profile, of.view.sub("retry"), of.view.spot("retry", of.spot)
		largest := r.s.Model.Framing.Length(&wire.Frame{Kind: wire.Data, Family: l.Family(), Payload: wire.MinMSDU})
		for side := range r.crossed[of.index] {
			largest = max(largest, r.crossed[of.index][side].longest)
		}
		rate, _ := r.s.Rates(l)
		flight := l.Propagation + r.s.Latest(l)
		p.Complete(rate, flight, largest)
		ack := p.AckTime(rate, flight, largest)
		sum := fmt.Sprintf("An ACK takes up to %v: %v in each direction, and at %v %v for its spacing of %v, a frame of %v that has just started, and the ordered set",
			ack, flight, rate, rate.Serialise(p.Spacing+largest+wire.OrderedSetSize), p.Spacing, largest)
		busy := retry.BytesIn(rate, ack) + largest
		switch {
		case p.Bytes < largest:
			r.add(v.spot("bytes", at), "the retry of link %s may hold %v, and a frame has %v: none could leave; give it at least %v, or leave bytes out",
				l.Name, p.Bytes, largest, busy)
		case p.Timer <= ack:
			r.add(v.spot("timer", at), "the replay timer of link %s, %v, expires before an ACK can arrive, and frames would be retransmitted for nothing. %s; give it more than that, or leave timer out",
				l.Name, p.Timer, sum)
		case p.DataAge > 0 && p.DataAge <= p.Timer:
			r.add(v.spot("data-age", at), "the retry of link %s abandons a frame after %v, before its replay timer, %v, has started a single replay: data-age must be above it",
				l.Name, p.DataAge, p.Timer)
		case min(p.Bytes, unit.Size(p.Frames)*largest) < busy:
			r.warn(at, "the retry of link %s cannot keep the link busy: at most %d frames of %v and %v await their ACK, and %v leave before it can arrive. %s",
				l.Name, p.Frames, largest, p.Bytes, busy, sum)
		}
	}
}
