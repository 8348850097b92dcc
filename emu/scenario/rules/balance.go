package rules

import (
	"fabemu/emu/scenario"
	"fabemu/switchd"
)

// balance refuses a choice among equal paths that could choose nothing.
func balance(s *scenario.Site, p *scenario.Problems) {
	b, routing := &s.Routing, s.Head("routing")
	if given := routing.Mention("balance"); given.Given() && b.Balance != switchd.Hash && b.Paths != scenario.ECMP {
		p.Add(given.Path, "there is one path to each destination, so %v has nothing to choose: add paths: ecmp", b.Balance)
	}
	if b.Balance.Adaptive() && b.QueueMax <= b.QueueMin {
		p.Add(routing.Where("queue-max", "queue-min"), "the bands do not rise: queue-min is %v, and queue-max %v", b.QueueMin, b.QueueMax)
	}
	idle := routing.Mention("idle")
	if !idle.Given() || !b.Balance.ByFlowlet() {
		return
	}
	for i := range s.Flows[:s.Own] {
		f := &s.Flows[i]
		for _, k := range s.LinksOf(f.From) {
			if t := s.Links[k].Rate.Serialise(s.Length(f)); t > b.Idle {
				p.Add(idle.Path, "a packet of flow %s takes %v on link %s, longer than an idle time of %v: each packet would be a flowlet; balance: random or adaptive chooses for each packet", f.Name, t, s.Links[k].Name, b.Idle)
				return
			}
		}
	}
}
