package rules

import (
	"fabemu/emu/scenario"
	"fabemu/wire"
)

// forwarding refuses a switch that would forward before it has read a header.
func forwarding(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Switches {
		w := &s.Switches[i]
		if w.Forwarding == scenario.StoreAndForward {
			continue
		}
		for _, k := range s.LinksOf(w.Name) {
			l := &s.Links[k]
			if header := l.Rate.Serialise(wire.HeaderSize); w.ForwardingDelay < header {
				p.Add(s.Switch(i).Where("forwarding-delay"),
					"switch %s would forward after %v, but the %d bytes of a header take %v on link %s (%v)",
					w.Name, w.ForwardingDelay, wire.HeaderSize, header, l.Name, l.Rate)
				break
			}
		}
	}
}
