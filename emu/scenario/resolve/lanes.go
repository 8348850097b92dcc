package resolve

import (
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/yaml"
)

// resolveLanes fills in the exceptions from the lanes of service levels.
func (r *fabric) resolveLanes(run span) {
	for n, v := range r.items("sl2vl", new(bool)) {
		rule := yaml.Build[scenario.LaneRule](v)
		if rule.Since > 0 && run.leaves(&r.left, n, rule.Since, rule.At, "the rule counts since %v, but %s") {
			continue
		}
		for _, key := range []string{"from", "over"} {
			name := yaml.Get[string](v, key)
			if name != "" && !slices.ContainsFunc(r.Nodes[rule.At].Links, func(i int) bool { return r.Links[i].Name == name }) {
				r.Add(n.Get(key).Spot, "link %s does not end at %s", name, rule.At)
			}
		}
		switch {
		case rule.Lanes == "" && !rule.Arbitrates():
			r.Add(n.Spot, "a rule without effect: give lanes, or vlarb-high and vlarb-low")
		case rule.From != "" && rule.Arbitrates():
			r.Add(n.Get("from").Spot, "arbitration is among frames from all links: remove from, or give lanes only")
		case rule.From != "" && !r.Nodes[rule.At].IsSwitch:
			r.Add(n.Get("from").Spot, "%s is an endpoint, which forwards nothing: remove from", rule.At)
		}
		r.LaneRules = append(r.LaneRules, rule)
	}
}
