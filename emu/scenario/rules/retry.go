package rules

import (
	"fabemu/emu/scenario"
	"fabemu/wire/retry"
)

// retries refuses profiles of links with retry that cannot work.
func retries(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Links {
		l := &s.Links[i]
		if !l.Retry.On() {
			continue
		}
		r, at, t := &l.Retry.Profile, s.Link(i).In("retry"), s.RetryTimes(i)
		switch {
		case r.Bytes < t.Largest:
			p.Add(at.Where("bytes"), "the retry of link %s may hold %v, and a frame has %v: none could leave; give it at least %v, or leave bytes out",
				l.Name, r.Bytes, t.Largest, retry.BytesIn(t.Rate, t.ACK)+t.Largest)
		case r.Timer <= t.ACK:
			p.Add(at.Where("timer"), "the replay timer of link %s, %v, expires before an ACK can arrive, and frames would be retransmitted for nothing. %s; give it more than that, or leave timer out",
				l.Name, r.Timer, t)
		case r.DataAge > 0 && r.DataAge <= r.Timer:
			p.Add(at.Where("data-age"), "the retry of link %s abandons a frame after %v, before its replay timer, %v, has started a single replay: data-age must be above it",
				l.Name, r.DataAge, r.Timer)
		}
	}
}
