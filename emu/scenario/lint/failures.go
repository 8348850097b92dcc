package lint

import (
	"fabemu/emu/scenario"
	nodes "fabemu/node"
	"fabemu/node/uet"
	"fabemu/wire/unit"
)

// failures warns of queue pairs with a retry-count that they cannot reach: without a timeout, or
// within the run.
func failures(s *scenario.Site, p *scenario.Problems) {
	for x := range s.Senders {
		if u, is := x.Flow.Transport.Params.(uet.Params); is && u.RetryCount != uet.Unlimited && u.Timeout == 0 {
			p.Add(x.Item().In("transport").Where("retry-count"), "%s has retry-count: %d and rto: never: no timeout counts; give it an rto", x.Name, u.RetryCount)
		}
		roce, is := x.Flow.Transport.Params.(nodes.RoCEParams)
		if !is || roce.RetryCount == nodes.Unlimited {
			continue
		}
		path := x.Item().In("transport").Where("retry-count")
		switch least := unit.Duration(roce.RetryCount+1) * roce.Timeout; {
		case roce.Timeout == 0:
			p.Add(path, "%s has retry-count: %d and ack-timeout: never: only a NAK counts, and none comes once nothing arrives; give it an ack-timeout", x.Name, roce.RetryCount)
		case least > s.Model.Duration:
			p.Add(path, "%s has retry-count: %d and ack-timeout: %v: without ACKs its queue pair fails after %v, and the run takes %v; a shorter ack-timeout lets it fail", x.Name, roce.RetryCount, roce.Timeout, least, s.Model.Duration)
		}
	}
}
