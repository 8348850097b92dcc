package lint

import (
	"fabemu/emu/scenario"
	nodes "fabemu/node"
)

// spraying warns of flows whose packets choose among paths where there is one, or take several
// where each that is late is taken for lost. Flows share a value, as under defaults: one path is a
// mistake if all of them have one.
func spraying(s *scenario.Site, p *scenario.Problems) {
	value := func(x *scenario.Sender) string { return x.Item().In("transport").Where("spray") }
	chooses := map[string]bool{}
	for x := range s.Senders {
		if x.Flow.Transport.Sprays() && x.Divides() {
			chooses[value(x)] = true
		}
	}
	for x := range s.Senders {
		roce, isRoCE := x.Flow.Transport.Params.(nodes.RoCEParams)
		policy := x.Flow.Transport.Spray()
		if !x.Flow.Transport.Sprays() {
			continue
		}
		path := value(x)
		switch divides := x.Divides(); {
		case !divides && s.Routing.Paths != scenario.ECMP:
			p.Add(path, "%s has spray: %v, and switches use one path to each destination: routing: {paths: ecmp} takes all equal ones", x.Name, policy)
		case !divides && chooses[path]:
		case !divides:
			p.Add(path, "%s has spray: %v, and there is one path: it has no effect", x.Name, policy)
		case isRoCE && roce.Order == nodes.GoBackN:
			p.Add(path, "%s has spray: %v, and goes back for each packet that another one overtakes: order: selective-repeat or direct accepts them", x.Name, policy)
		}
	}
}
