package resolve

import (
	"fabemu/wire/retry"
)

// checkRetries computes the profiles of links with retry, and refuses those that cannot work.
func (r *resolver) checkRetries() {
	for l, of := range each(r.s.Links, r.LinkOrigins) {
		if !l.Retry.On() {
			continue
		}
		p, v, at, t := &l.Retry.Profile, of.View.Sub("retry"), of.Spot, r.RetryTimes(of.Index)
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
