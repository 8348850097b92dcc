package scenario

import (
	"fmt"
	"math/bits"

	"fabemu/wire/unit"
)

// LongestOfChannels returns the length of the longest frame that crosses a link in a virtual
// channel; 0: none does.
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
func (r *Site) setChannels(s *Switch, m *NodeRef) {
	room := s.Memory.Total(len(m.Links))
	over, called := "its links", fmt.Sprintf("the memory, %v", room)
	if s.Sharing != Pooled {
		room /= unit.Size(len(m.Links))
		over, called = "a link", fmt.Sprintf("the part of an input, %v", room)
	}
	need, all := unit.Size(0), unit.Size(0)
	for _, i := range m.Links {
		c := &r.Links[i].CBFC
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
		r.Found.Add(m.Item.Where("memory"), "switch %s has given credits for %v over %s, and has %s: give it more room, or the links fewer credits",
			s.Name, need, over, called)
	} else if others := bits.OnesCount8(uint8(^s.Lossless)); others > 0 {
		s.High = max((room-need)/unit.Size(others), 1)
	}
}
