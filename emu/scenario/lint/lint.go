package lint

import "fabemu/emu/scenario"

// Check returns what is probably not intended in a scenario.
func Check(s *scenario.Site) []scenario.Problem {
	p := &scenario.Problems{}
	for _, rule := range []func(*scenario.Site, *scenario.Problems){
		retries, channels, rest, ignored, credits, algorithms, madeFor, inactions, losses, idle, spraying, trimming, failures, guests, timeouts, deadlocks,
	} {
		rule(s, p)
	}
	return p.List
}
