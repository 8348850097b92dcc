package rules

import "fabemu/emu/scenario"

// limiters refuses an endpoint whose flows with a rate-limit need more rate limiters than it has.
func limiters(s *scenario.Site, p *scenario.Problems) {
	taken := map[string]int{}
	for i := range s.Flows {
		if f := &s.Flows[i]; f.RateLimit > 0 {
			taken[f.From]++
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if n := taken[e.Name]; e.Limiters > 0 && n > e.Limiters {
			p.Add(s.Endpoint(i).Where("limiters"),
				"%d of the flows from endpoint %s have a rate-limit and need a rate limiter each, but the endpoint has %d",
				n, e.Name, e.Limiters)
		}
	}
}
