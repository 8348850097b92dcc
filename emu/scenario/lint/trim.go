package lint

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/node"
	"fabemu/wire"
	"fabemu/wire/port"
)

// trimming warns of switches that can trim nothing, or nothing that helps, once for each item of
// the file.
func trimming(s *scenario.Site, p *scenario.Problems) {
	nodes := map[string]map[int]bool{} // of each item
	for i := range s.Switches {
		if w, path := &s.Switches[i], s.Switch(i).In("trim").Path(); w.Trim.Size > 0 {
			if nodes[path] == nil {
				nodes[path] = map[int]bool{}
			}
			nodes[path][s.Paths.Index[w.Name]] = true
		}
	}
	for i := range s.Switches {
		w, item := &s.Switches[i], s.Switch(i).In("trim")
		here := nodes[item.Path()]
		if w.Trim.Size == 0 || here == nil {
			continue
		}
		delete(nodes, item.Path())
		if s.FlowControlOf(w) == port.PauseFrames && w.Lossless != 0 {
			p.Add(item.Path(), "switch %s has trim, and PAUSE keeps it from dropping anything: nothing is trimmed; lossless: [] has it drop", w.Name)
			continue
		}
		drops := false
		for x := range s.Senders {
			roce, ok := x.Flow.Transport.Params.(node.RoCEParams)
			ultra := x.Flow.Transport.Ultra()
			if !ok && !ultra || !reaches(x, here) || s.FlowControlOf(w).ByPriority() && w.Lossless>>x.Flow.Priority&1 == 1 {
				continue
			}
			drops = true
			f := s.Frame(x.Flow, s.FamilyOf(x.Flow.From))
			switch cut := f; {
			case f.Telemetry() != wire.NoTelemetry:
				p.Add(item.Path(), "switch %s cannot trim packets of %s, which collect telemetry: it drops them", w.Name, x.Name)
			case !cut.Trim(w.Trim.Size, 0):
				p.Add(item.Where("size"), "switch %s cannot trim packets of %s to %v, as they are no longer than that: it drops them", w.Name, x.Name, w.Trim.Size)
			case x.Flow.Priority == w.Trim.Priority:
				p.Add(item.Where("priority"), "trimmed packets of switch %s have the priority of %s, and wait behind its data: give them a higher one", w.Name, x.Name)
			case ok && roce.Order == node.GoBackN:
				p.Add(item.Path(), "switch %s trims packets of %s, whose destination drops trimmed packets as damaged: order: selective-repeat or direct makes use of them", w.Name, x.Name)
			default:
				continue
			}
			break
		}
		if !drops {
			p.Add(item.Path(), "switch %s has trim, and no flow through it has packets of RoCEv2 or UET that it may drop: nothing is trimmed", w.Name)
		}
	}
}

// reaches reports whether packets of a flow may reach one of some nodes.
func reaches(x *scenario.Sender, nodes map[int]bool) (some bool) {
	x.Forth(func(_ int, step paths.Step) { some = some || nodes[step.To] })
	return some
}
