package rules

import "fabemu/emu/scenario"

// Known is what is right in a scenario. A rule relies on some of it.
type Known uint8

// What may be known.
const (
	Links   Known = 1 << iota // the nodes and the links between them
	Frames                    // the frames that may cross each link, which takes all traffic
	Changes                   // the events, by which rates change
	Flows                     // the flows
	Routing                   // how switches choose among paths
)

// Check returns what does not fit together, as far as it can be told.
func Check(s *scenario.Site, known Known) []scenario.Problem {
	var p scenario.Problems
	for _, rule := range []struct {
		needs Known
		check func(*scenario.Site, *scenario.Problems)
	}{
		{Links, ports},
		{Links, limits},
		{Links, forwarding},
		{Links | Changes, quanta},
		{Frames, buffers},
		{Frames, fullAt},
		{Frames, priorities},
		{Frames, trimming},
		{Frames | Changes, retries},
		{Frames | Changes, channels},
		{Frames, lanes},
		{Frames, points},
		{Frames | Changes, processes},
		{Frames | Changes, algorithms},
		{Frames, limiters},
		{Links | Flows | Routing, balance},
	} {
		if rule.needs&known == rule.needs {
			rule.check(s, &p)
		}
	}
	return p.List
}
