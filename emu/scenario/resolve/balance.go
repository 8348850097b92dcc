package resolve

import (
	"fabemu/emu/scenario"
	"fabemu/switchd"
)

// checkBalance refuses a choice among equal paths that could choose nothing.
func (r *resolver) checkBalance() {
	b, routing := &r.s.Routing, r.top().Sub("routing")
	if n := routing.Node("balance"); n != nil && b.Balance != switchd.Hash && b.Paths != scenario.ECMP {
		r.Add(n.Spot, "there is one path to each destination, so %v has nothing to choose: add paths: ecmp", b.Balance)
	}
	if n := routing.Node("queue-max"); b.Balance.Adaptive() && b.QueueMax <= b.QueueMin {
		if n == nil {
			n = routing.Node("queue-min")
		}
		r.Add(n.Spot, "the bands do not rise: queue-min is %v, and queue-max %v", b.QueueMin, b.QueueMax)
	}
	n := routing.Node("idle")
	if n == nil || !b.Balance.ByFlowlet() {
		return
	}
	for _, f := range r.s.Flows {
		for _, i := range r.Nodes[f.From].Links {
			if t := r.s.Links[i].Rate.Serialise(r.Length(&f)); t > b.Idle {
				r.Add(n.Spot, "a packet of flow %s takes %v on link %s, longer than an idle time of %v: each packet would be a flowlet; balance: random or adaptive chooses for each packet", f.Name, t, r.s.Links[i].Name, b.Idle)
				return
			}
		}
	}
}
