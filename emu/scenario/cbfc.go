package scenario

import (
	"fmt"
	"math/bits"

	"fabemu/emu/scenario/yaml"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// checkChannels refuses a link whose credits for virtual channels are too few for a frame, and one
// whose messages about them come too rarely.
func (r *resolver) checkChannels() {
	for l, of := range each(r.s.Links, r.links) {
		v := of.view.Sub("cbfc")
		if l.FlowControl != port.ChannelCredits {
			continue
		}
		at := func(key string) yaml.Spot { return v.Spot(key, of.view.Spot("cbfc", of.Spot)) }
		c := &l.CBFC
		key := "limit"
		if c.PortLimit > 0 {
			key = "port-limit"
		}
		if err := c.Check(); err != nil {
			r.Add(at(key), "link %s: %v", l.Name, err)
			continue
		}
		slowest, _ := r.s.Rates(l)
		frame := r.LongestOfChannels(of.index)
		switch need, most := c.Credits(frame), c.Most(); {
		case need > most:
			r.Add(at(key), "link %s could never send a frame of %v: it takes %d credits of %v, and a channel has at most %d",
				l.Name, frame, need, c.Credit, most)
		case c.CFMin > c.CFMax:
			r.Add(at("cf-min"), "link %s: cf-min, %v, is more than cf-max, %v",
				l.Name, c.CFMin, c.CFMax)
		case slowest.Serialise(c.CFMin) > c.CCTimer:
			r.Add(at("cf-min"), "link %s: %v between CF_Updates take %v at %v, longer than the timer of CC_Updates, %v: the credits that these give back would wait for the next one",
				l.Name, c.CFMin, slowest.Serialise(c.CFMin), slowest, c.CCTimer)
		}
	}
}

// LongestOfChannels returns the length of the longest frame that crosses a link in a virtual channel; 0:
// none does.
func (r *Site) LongestOfChannels(link int) (frame unit.Size) {
	for _, crossed := range r.crossed[link] {
		if crossed.priorities&r.Links[link].CBFC.Lossless != 0 {
			frame = max(frame, crossed.longest)
		}
	}
	return frame
}

// setChannels computes which priorities a switch with links of virtual channels never drops, and
// how much the others may take of its memory. It refuses a memory with less room than its links
// have credits.
func (r *resolver) setChannels(s *Switch, m *nodeRef) {
	room := s.Memory.Total(len(m.links))
	over, called := "its links", fmt.Sprintf("the memory, %v", room)
	if s.Sharing != Pooled {
		room /= unit.Size(len(m.links))
		over, called = "a link", fmt.Sprintf("the part of an input, %v", room)
	}
	need, all := unit.Size(0), unit.Size(0)
	for _, i := range m.links {
		c := &r.s.Links[i].CBFC
		_, credits := c.Least()
		one := unit.Size(credits) * c.Credit
		need, all = max(need, one), all+one
		s.Lossless &= c.Carry
	}
	if s.Sharing == Pooled {
		need = all
	}
	s.High, s.Low = 0, 0
	if need > room {
		r.Add(m.view.Spot("memory", m.Spot), "switch %s has given credits for %v over %s, and has %s: give it more room, or the links fewer credits",
			s.Name, need, over, called)
	} else if others := bits.OnesCount8(uint8(^s.Lossless)); others > 0 {
		s.High = max((room-need)/unit.Size(others), 1)
	}
}
