package lint

import (
	"fabemu/emu/scenario"
	"fabemu/wire/param"
)

// Check returns what is probably not intended in a scenario.
func Check(s *scenario.Site) []scenario.Problem {
	p := &scenario.Problems{}
	for _, rule := range []func(*scenario.Site, *scenario.Problems){
		retries, channels, rest, ignored, credits, algorithms, madeFor, inactions, losses, idle, spraying, failures, guests, timeouts, deadlocks,
	} {
		rule(s, p)
	}
	return p.List
}

// textOf returns a parameter as a scenario writes it; empty if the scheme does not have the key.
func textOf(params any, key string) string {
	if params == nil {
		return ""
	}
	if p := param.Of(params).Find(key); p != nil {
		return p.Text(params)
	}
	return ""
}
