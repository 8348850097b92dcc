package rules

import (
	"fabemu/emu/scenario"
	"fabemu/wire/port"
)

// priorities refuses a lossless priority at a switch if a flow may reach the switch over a link
// that cannot stop that priority.
func priorities(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Switches {
		w, given := &s.Switches[i], s.Switch(i).Mention("lossless")
		if !given.Given() {
			continue
		}
		for _, k := range s.LinksOf(w.Name) {
			l := &s.Links[k]
			for class, f := range s.Arriving(w.Name, k) {
				switch {
				case f == nil:
				case l.FlowControl == port.PauseFrames && w.Lossless != 0 && w.Lossless != scenario.AllPriorities:
					p.Add(given.Path,
						"switch %s has some lossless priorities, and PAUSE stops all frames on link %s: make none, [], or all of them lossless, or use flow-control: pfc",
						w.Name, l.Name)
				case l.FlowControl == port.NoFlowControl && w.Lossless>>class&1 == 1:
					p.Add(given.Path,
						"priority %d is lossless at switch %s, but flow %s arrives there over link %s, which has no flow control",
						class, w.Name, f.Name, l.Name)
				}
			}
		}
	}
}
