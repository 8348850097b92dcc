package rules

import (
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
)

// lanes refuses lanes that cannot be, and service levels that lead to no lane or to one that
// never sends.
func lanes(s *scenario.Site, p *scenario.Problems) {
	if !slices.ContainsFunc(s.Links, func(l scenario.Link) bool { return l.Lanes.Count() > 1 }) {
		return
	}
	for i := range s.Links {
		l := &s.Links[i]
		if n := s.Link(i).In("lanes").Mention("max-vls"); n.Given() && !slices.Contains([]int{1, 2, 4, 8, port.MaxDataLanes}, l.Lanes.Count()) {
			p.Add(n.Path, "%d data lanes: InfiniBand has 1, 2, 4, 8 or 15", l.Lanes.Count())
			break
		}
		if l.Lanes.Count() == port.MaxDataLanes && !s.AcksAsData() {
			p.Add(s.Link(i).Path(),
				"link %s has 15 data lanes, and none is left for ACKs: give all flows ack-sl, the service level of their ACKs, or max-vls: 8", l.Name)
			break
		}
	}
	for i := range s.Switches {
		w, scheme := &s.Switches[i], s.Switch(i).In("marking").Mention("scheme")
		several := slices.ContainsFunc(s.LinksOf(w.Name), func(i int) bool { return s.Links[i].Lanes.Count() > 1 })
		if _, cca := w.Marking.Params.(cp.CCAParams); several && !cca && scheme.Given() && w.Marking.Scheme != scenario.NoScheme {
			p.Add(scheme.Path, "marking scheme %s at switch %s looks at one buffer for each input, but its links have several data lanes: use cca, which looks at lanes, or max-vls: 1",
				w.Marking.Scheme, w.Name)
		}
	}
	seen := map[[4]int]bool{} // link, direction, service level
	for sender := range s.Senders {
		if f, of := sender.Flow, sender.Item(); s.FamilyOf(f.From) == wire.InfiniBand {
			serviceLevel(sender, f.SL, of.Where("sl"), seen, sender.Forth, p)
			if f.AckSL != scenario.AcksApart {
				serviceLevel(sender, uint8(f.AckSL), of.Where("ack-sl"), seen, sender.Back, p)
			}
		}
	}
}

// serviceLevel refuses a service level whose packets would be dropped or never sent on one of
// their paths.
func serviceLevel(s *scenario.Sender, sl uint8, path string, seen map[[4]int]bool, steps func(visit func(from int, step paths.Step)), p *scenario.Problems) {
	steps(func(from int, step paths.Step) {
		l := &s.Links[step.Link]
		place := [4]int{step.Link, from, int(sl)}
		if seen[place] || slices.ContainsFunc(s.LaneRules, func(rule scenario.LaneRule) bool {
			at := s.Nodes[rule.At].Index
			if !s.Nodes[rule.At].IsSwitch {
				at += len(s.Switches)
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
			p.Add(path, "packets of SL %d of %s would be dropped: sl2vl of link %s maps it to VL%d, and the link has max-vls: %d",
				sl, s.Name, l.Name, vl, l.Lanes.Count())
		case l.Lanes.Count() > 1 && !slices.ContainsFunc(a.High, serves) && !slices.ContainsFunc(a.Low, serves):
			p.Add(path, "packets of SL %d of %s would wait forever: they use VL%d of link %s, which has no weight in vlarb-high or vlarb-low",
				sl, s.Name, vl, l.Name)
		}
	})
}
