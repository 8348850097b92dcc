package rules

import (
	"fabemu/emu/scenario"
	"fabemu/wire/port"
)

// limits refuses a switch that would drop frames beyond the limit of an output although its flow
// control promises that no frame is lost.
func limits(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Switches {
		w, limit := &s.Switches[i], s.Switch(i).Mention("output-limit")
		if w.Kind != scenario.OutputQueued || w.OutputLimit == 0 || !limit.Given() {
			continue
		}
		switch control := s.FlowControlOf(w); {
		case control == port.PauseFrames && w.Stops(control):
			p.Add(limit.Path,
				"switch %s would drop frames beyond %v at one output, but flow-control: pause promises that no frame is lost: leave the limit out, or give flow-control: none, or lossless: [], with which the switch stops no sender",
				w.Name, w.OutputLimit)
		case control == port.PriorityPauseFrames && w.Lossless == scenario.AllPriorities:
			p.Add(limit.Path,
				"switch %s would drop frames beyond %v at one output, but all priorities are lossless there: omit the limit, or list the lossless priorities; the limit applies to the others",
				w.Name, w.OutputLimit)
		}
	}
}
