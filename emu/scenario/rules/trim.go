package rules

import (
	"fabemu/emu/scenario"
	nodes "fabemu/node"
	"fabemu/wire/unit"
)

// trimming refuses to trim packets to less than their headers, and trimmed packets of a priority
// that a switch promises not to lose.
func trimming(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Switches {
		w, item := &s.Switches[i], s.Switch(i).In("trim")
		if w.Trim.Size == 0 {
			continue
		}
		for k := range s.Switches {
			x := &s.Switches[k]
			if x.Kind == scenario.OutputQueued && s.FlowControlOf(x).ByPriority() && x.Lossless>>w.Trim.Priority&1 == 1 {
				p.Add(item.Where("priority"), "switch %s sends trimmed packets with priority %d, which is lossless at switch %s: give them one that is not, or leave it out of its lossless priorities",
					w.Name, w.Trim.Priority, x.Name)
				break
			}
		}
		for x := range s.Senders {
			if _, roce := x.Flow.Transport.Params.(nodes.RoCEParams); !roce {
				continue
			}
			f := s.Frame(x.Flow, s.FamilyOf(x.Flow.From))
			if least := f.Headers(); least > w.Trim.Size {
				p.Add(item.Where("size"), "switch %s trims packets to %v, and those of %s have headers of %v: give it a size of at least that",
					w.Name, w.Trim.Size, x.Name, unit.Size(least))
				break
			}
		}
	}
}
