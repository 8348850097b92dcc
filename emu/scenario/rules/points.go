package rules

import (
	"fmt"

	"fabemu/emu/scenario"
	"fabemu/switchd/cp"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// points refuses congestion points at switches without the buffers or queues that they
// observe, and parameters that do not fit there.
func points(s *scenario.Site, p *scenario.Problems) {
	longest := unit.Size(0) // of the frames of Ethernet
	for i := range s.Flows {
		longest = max(longest, s.Length(&s.Flows[i]))
	}
	for i := range s.Switches {
		w, marking := &s.Switches[i], s.Switch(i).In("marking")
		point, ok := s.Point(w)
		if !ok {
			continue
		}
		wrong := ""
		switch {
		case point.Sees == cp.Queues && w.Kind == scenario.InputBuffered:
			wrong = "%s looks at the queues of outputs, which the input-buffered switch %s does not have: make it output-queued"
		case point.Sees == cp.Buffers && w.Kind == scenario.OutputQueued:
			wrong = "%s marks by input buffers, which the output-queued switch %s does not have"
		}
		if wrong != "" {
			p.Add(marking.Where("scheme"), wrong, point.Name, w.Name)
			continue
		}
		room := w.Memory.Total(len(s.LinksOf(w.Name)))
		if w.OutputLimit > 0 {
			room = min(room, w.OutputLimit)
		}
		if checker, ok := w.Marking.Params.(cp.RoomChecker); ok {
			for _, wrong := range checker.CheckRoom(room, longest) {
				p.Add(marking.Where(wrong.Key, "scheme"), "switch %s: %v", w.Name, wrong.Why)
			}
		}
		if point.Dropper != nil && !cp.TraitsOf(w.Marking.Params).Spares {
			dropper(s, w, point.Name, marking, p)
		}
	}
}

// dropper refuses a switch whose congestion points would drop frames that its flow control
// keeps from loss.
func dropper(s *scenario.Site, w *scenario.Switch, name string, marking scenario.Item, p *scenario.Problems) {
	control := s.FlowControlOf(w)
	if !control.Pauses() || !w.Stops(control) {
		return
	}
	for _, i := range s.LinksOf(w.Name) {
		for class, f := range s.Arriving(w.Name, i) {
			if f == nil || control == port.PriorityPauseFrames && w.Lossless>>class&1 == 0 {
				continue
			}
			instead := "lossless: [], with which it stops no sender"
			if control == port.PriorityPauseFrames {
				instead = fmt.Sprintf("a list of lossless priorities without %d", class)
			}
			p.Add(marking.Where("ecn", "scheme"),
				"%s would drop frames of flow %s, and flow-control: %s keeps them from loss at switch %s: give the marking ecn: true, with which it marks them, or the switch %s",
				name, f.Name, control, w.Name, instead)
			return
		}
	}
}
