package scenario

import (
	"cmp"
	"slices"

	"fabemu/emu/fabric/paths"
	"fabemu/wire"
	"fabemu/wire/port"
)

// adaptEndpoints takes from endpoints on InfiniBand what only an adapter of Ethernet
// has: all but a rate of service.
func (r *resolver) adaptEndpoints() {
	for e := range r.eachEndpoint() {
		if r.family(e.Name) == wire.InfiniBand {
			limited := *e
			if *e = (Endpoint{Name: e.Name, Guest: e.Guest}); limited.Service != Unlimited {
				e.Service = limited.Service
			}
		}
	}
}

// checkFamilies refuses a link whose ends do not speak its flow control, a switch whose
// links have different ones, and one that marks what it does not have.
func (r *resolver) checkFamilies() {
	for s, m := range r.eachSwitch() {
		if s.Kind != OutputQueued {
			continue
		}
		for _, i := range m.links {
			l, first := &r.s.Links[i], &r.s.Links[m.links[0]]
			if l.FlowControl != first.FlowControl && l.Family() == wire.Ethernet && first.Family() == wire.Ethernet {
				r.add(spot{m.linkAt[slices.Index(m.links, i)], r.links[i].path},
					"link %s has flow-control: %s, and link %s at the same switch has %s: all links of switch %s have the same",
					l.Name, l.FlowControl, first.Name, first.FlowControl, s.Name)
				break
			}
		}
	}
	for l, of := range r.eachLink() {
		v := of.view
		n, at := v.node("flow-control"), v.spot("flow-control", of.spot)
		if v.refused("flow-control") {
			r.misfits[l.A], r.misfits[l.B] = true, true
			continue
		}
		for _, name := range []string{l.A, l.B} {
			m := r.machines[name]
			if !m.isSwitch || m.view.refused("kind") {
				continue
			}
			credit := l.Family() == wire.InfiniBand
			kind := r.s.Switches[m.index].Kind
			if credit == (kind == InputBuffered) {
				continue
			}
			r.misfits[name] = true
			for _, end := range []string{l.A, l.B} {
				r.misfits[end] = r.misfits[end] || !r.machines[end].isSwitch
			}
			switch {
			case !r.first(cmp.Or(n, r.root), "flow-control"):
			case credit:
				r.add(at,
					"link %s has flow-control: credit, and switch %s at its end is output-queued, which knows pause, pfc and none only",
					l.Name, name)
			default:
				r.add(at,
					"link %s has flow-control: %s, and switch %s at its end is input-buffered, which knows credit only: make it output-queued",
					l.Name, l.FlowControl, name)
			}
		}
	}
}

// doubtful reports whether it is not known of which family the links of a machine are to be, or of
// which kind the switches at their ends: something about them was refused, or there is none.
func (r *resolver) doubtful(name string) bool {
	m := r.machines[name]
	return r.misfits[name] || len(m.links) == 0 || m.isSwitch && m.view.refused("kind")
}

// checkPriorities refuses a priority that a switch is to keep lossless, where a flow
// comes to it over a link that cannot stop it.
func (r *resolver) checkPriorities() {
	if r.lost {
		return
	}
	for f, of := range r.eachFlow() {
		if r.family(f.From) != wire.Ethernet {
			continue
		}
		r.passes(r.key(of), func(s *Switch, step paths.Step) {
			l := &r.s.Links[step.Link]
			given := r.machines[s.Name].view.list("lossless")
			if given != nil && l.FlowControl == port.PauseFrames && s.Lossless != 0 && s.Lossless != AllPriorities &&
				r.first(given, "lossless") {
				r.add(given.spot,
					"switch %s is to keep some priorities lossless and others not, and PAUSE stops all that comes over link %s: give it none, [], or all, or have flow-control: pfc",
					s.Name, l.Name)
			}
			if given != nil && l.FlowControl == port.NoFlowControl && s.Lossless>>f.Priority&1 == 1 &&
				r.first(of.node, "lossless") {
				r.add(given.spot,
					"priority %d is to be lossless at switch %s, but flow %s comes to it over link %s, which has no flow control",
					f.Priority, s.Name, f.Name, l.Name)
			}
		})
	}
}

// checkWeights refuses a priority that is given two weights.
func (r *resolver) checkWeights() {
	for _, m := range r.eachSwitch() {
		if weights := m.view.list("ets"); weights != nil && r.first(weights, "ets") {
			r.checkOnce(weights, "priority", "priority %s has a weight already%s")
		}
	}
}

// checkClasses refuses a DSCP that is given two priorities.
func (r *resolver) checkClasses(model view) {
	if table := model.list("dscp"); table != nil {
		r.checkOnce(table, "dscp", "the DSCP %s has a priority already%s")
	}
}

// checkOnce refuses items of a list that say the same of a key, in words for that and where the
// first one is.
func (r *resolver) checkOnce(list *node, key, words string) {
	seen := map[string]place{}
	for _, n := range list.items {
		p := n.get(key)
		if p == nil || p.bad {
			continue
		}
		if first, twice := seen[p.text]; twice {
			r.add(p.spot, words, p.text, inLine(first))
		}
		seen[p.text] = p.at
	}
}

// checkLimits refuses a switch that would drop frames beyond the limit of an output, and
// whose flow control promises of all of them that none is lost.
func (r *resolver) checkLimits() {
	for s, m := range r.eachSwitch() {
		n := m.view.node("output-limit")
		if s.Kind != OutputQueued || s.OutputLimit == 0 || n == nil || len(m.links) == 0 {
			continue
		}
		switch control := r.s.Links[m.links[0]].FlowControl; {
		case control == port.PauseFrames && s.stops(control):
			r.add(n.spot,
				"switch %s is to drop what is beyond %v at one output, but flow-control: pause promises that nothing is lost: leave the limit out, or have flow-control: none, or lossless: [], with which the switch stops nobody",
				s.Name, s.OutputLimit)
		case control == port.PriorityPauseFrames && s.Lossless == AllPriorities:
			r.add(n.spot,
				"switch %s is to drop what is beyond %v at one output, but all priorities are lossless there: leave the limit out, or name those that are to be lossless; it holds for the others",
				s.Name, s.OutputLimit)
		}
	}
}

// checkQuanta refuses a PAUSE that would be over before it could be repeated.
func (r *resolver) checkQuanta() {
	least := port.LeastQuanta(r.s.Model.Framing)
	for l, of := range r.eachLink() {
		n := of.view.node("quanta")
		if n != nil && l.FlowControl.Pauses() && l.Quanta < least && r.first(n, "quanta") {
			r.add(n.spot,
				"a PAUSE of %d quanta is over before it can be said again behind the longest frame, or leaves no time for one: at least %d are needed",
				l.Quanta, least)
		}
	}
}
