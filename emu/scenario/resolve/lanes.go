package resolve

import (
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/emu/scenario/yaml"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
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
			if name != "" && !slices.ContainsFunc(r.Nodes[rule.At].Links, func(i int) bool { return r.s.Links[i].Name == name }) {
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
		r.s.LaneRules = append(r.s.LaneRules, rule)
	}
}

// checkLanes refuses lanes that cannot be, and service levels that lead to no lane or to one that
// never sends.
func (r *resolver) checkLanes() {
	if !slices.ContainsFunc(r.s.Links, func(l scenario.Link) bool { return l.Lanes.Count() > 1 }) {
		return
	}
	for l, of := range each(r.s.Links, r.LinkOrigins) {
		if n := of.View.Sub("lanes").Node("max-vls"); n != nil && !slices.Contains([]int{1, 2, 4, 8, port.MaxDataLanes}, l.Lanes.Count()) {
			r.Add(n.Spot, "%d data lanes: InfiniBand has 1, 2, 4, 8 or 15", l.Lanes.Count())
			break
		}
		if l.Lanes.Count() == port.MaxDataLanes && !r.s.AcksAsData() {
			r.Add(of.View.Spot("lanes", of.Spot),
				"link %s has 15 data lanes, and none is left for ACKs: give all flows ack-sl, the service level of their ACKs, or max-vls: 8", l.Name)
			break
		}
	}
	for s, m := range each(r.s.Switches, r.SwitchNodes) {
		scheme := m.View.Sub("marking").Node("scheme")
		several := slices.ContainsFunc(m.Links, func(i int) bool { return r.s.Links[i].Lanes.Count() > 1 })
		if _, cca := s.Marking.Params.(cp.CCAParams); several && !cca && scheme != nil && s.Marking.Scheme != scenario.NoScheme {
			r.Add(scheme.Spot, "marking scheme %s at switch %s looks at one buffer for each input, but its links have several data lanes: use cca, which looks at lanes, or max-vls: 1",
				s.Marking.Scheme, s.Name)
		}
	}
	seen := map[[4]int]bool{} // link, direction, service level
	for s := range r.Senders {
		if f := s.Flow; r.FamilyOf(f.From) == wire.InfiniBand {
			r.checkServiceLevel(s, f.SL, s.Of.View.Spot("sl", s.Of.Spot), seen, s.Forth)
			if f.AckSL != scenario.AcksApart {
				r.checkServiceLevel(s, uint8(f.AckSL), s.Of.View.Spot("ack-sl", s.Of.Spot), seen, s.Back)
			}
		}
	}
}

// checkServiceLevel refuses a service level whose packets would be dropped or never sent on one of
// their paths.
func (r *resolver) checkServiceLevel(s *scenario.Sender, sl uint8, at yaml.Spot, seen map[[4]int]bool, steps func(visit func(from int, step paths.Step))) {
	steps(func(from int, step paths.Step) {
		l := &r.s.Links[step.Link]
		place := [4]int{step.Link, from, int(sl)}
		if seen[place] || slices.ContainsFunc(r.s.LaneRules, func(rule scenario.LaneRule) bool {
			at := r.Nodes[rule.At].Index
			if !r.Nodes[rule.At].IsSwitch {
				at += len(r.s.Switches)
			}
			return at == from && (rule.Over == "" || rule.Over == l.Name)
		}) {
			return
		}
		seen[place] = true
		table, a := l.Lanes.SLToVL(), l.Lanes.Arbitration()
		vl := table.Of(sl)
		switch serves := func(w port.VLWeight) bool { return w.VL == vl && w.Weight > 0 }; {
		case int(vl) >= l.Lanes.Count():
			r.Add(at, "packets of SL %d of %s would be dropped: sl2vl of link %s maps it to VL%d, and the link has max-vls: %d",
				sl, s.Name, l.Name, vl, l.Lanes.Count())
		case l.Lanes.Count() > 1 && !slices.ContainsFunc(a.High, serves) && !slices.ContainsFunc(a.Low, serves):
			r.Add(at, "packets of SL %d of %s would wait forever: they use VL%d of link %s, which has no weight in vlarb-high or vlarb-low",
				sl, s.Name, vl, l.Name)
		}
	})
}

// adaptServiceLevels refuses service levels on Ethernet. On InfiniBand the CCTI of a flow is of its
// service level, unless its control has another one.
func (r *resolver) adaptServiceLevels(f *scenario.Flow, of scenario.Origin) {
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
