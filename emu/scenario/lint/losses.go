package lint

import (
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	"fabemu/node/traffic"
)

// losses warns of flows that may wait for an ACK forever: their packets or ACKs may be lost, and
// they send nothing again.
func losses(s *scenario.Site, p *scenario.Problems) {
	if !s.Loses() {
		return
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.Window == 0 || f.Timeout > 0 {
			continue
		}
		lost := ""
		look := func(_ int, step paths.Step, _ bool) {
			for k := 0; k < len(s.Events) && lost == ""; k++ {
				if e := &s.Events[k]; e.Touches(&s.Links[step.Link]).Loses {
					lost = e.Loses()
				}
			}
		}
		s.VisitPaths(i, look)
		s.VisitAnswers(i, look)
		if lost == "" {
			continue
		}
		remedy := "give it a timeout, such as 500us"
		if f.Traffic == traffic.Transfers {
			remedy = "transfers are never retransmitted"
		}
		p.Add(s.Flow(i).Where("timeout"),
			"flow %s has timeout: never and may lose packets, because %s: they are not retransmitted, and if its whole window of %d is lost, it stops; %s",
			f.Name, lost, f.Window, remedy)
	}
}
