package resolve

import (
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
	"fabemu/node/rp"
	"fabemu/wire"
)

// resolveLanes fills in the exceptions from the lanes of service levels.
func (r *resolver) resolveLanes() {
	for n, v := range r.items("sl2vl") {
		rule := yaml.Build[scenario.LaneRule](v)
		if rule.Since > 0 && r.leaves(n, rule.Since, rule.At, "the rule counts since %v, but %s") {
			continue
		}
		for _, key := range []string{"from", "over"} {
			name := yaml.Get[string](v, key)
			if name != "" && !slices.ContainsFunc(r.nodes[rule.At].Links, func(i int) bool { return r.s.Links[i].Name == name }) {
				r.Add(n.Get(key).Spot, "link %s does not end at %s", name, rule.At)
			}
		}
		switch {
		case rule.Lanes == "" && !rule.Arbitrates():
			r.Add(n.Spot, "a rule without effect: give lanes, or vlarb-high and vlarb-low")
		case rule.From != "" && rule.Arbitrates():
			r.Add(n.Get("from").Spot, "arbitration is among frames from all links: remove from, or give lanes only")
		case rule.From != "" && !r.nodes[rule.At].IsSwitch:
			r.Add(n.Get("from").Spot, "%s is an endpoint, which forwards nothing: remove from", rule.At)
		}
		r.s.LaneRules = append(r.s.LaneRules, rule)
	}
}

// adaptServiceLevels refuses service levels on Ethernet. On InfiniBand the CCTI of a flow is of its
// service level, unless its control has another one.
func (r *resolver) adaptServiceLevels(f *scenario.Flow, of origin) {
	if r.FamilyOf(f.From) == wire.InfiniBand {
		if _, ok := f.Control.Params.(rp.CCAParams); ok && !of.View.Sub("control").Given("sl") {
			f.SetCCTILevel(f.SL)
		}
		return
	}
	for _, key := range []string{"sl", "ack-sl"} {
		if n := of.View.Node(key); n != nil {
			r.Add(n.Spot, "%s is for InfiniBand: on Ethernet a flow has a priority", key)
		}
	}
	f.SL, f.AckSL = 0, scenario.AcksApart
}
