package rules

import (
	"fabemu/emu/scenario"
	"fabemu/wire/port"
)

// channels refuses a link whose credits for virtual channels are too few for a frame, and one whose
// messages about them come too rarely.
func channels(s *scenario.Site, p *scenario.Problems) {
	for i := range s.Links {
		l, at := &s.Links[i], s.Link(i).In("cbfc")
		if l.FlowControl != port.ChannelCredits {
			continue
		}
		c := &l.CBFC
		key := "limit"
		if c.PortLimit > 0 {
			key = "port-limit"
		}
		if err := c.Check(); err != nil {
			p.Add(at.Where(key), "link %s: %v", l.Name, err)
			continue
		}
		slowest, _ := s.Rates(l)
		frame := s.LongestOfChannels(i)
		switch need, most := c.Credits(frame), c.Most(); {
		case need > most:
			p.Add(at.Where(key), "link %s could never send a frame of %v: it takes %d credits of %v, and a channel has at most %d",
				l.Name, frame, need, c.Credit, most)
		case c.CFMin > c.CFMax:
			p.Add(at.Where("cf-min"), "link %s: cf-min, %v, is more than cf-max, %v", l.Name, c.CFMin, c.CFMax)
		case slowest.Serialise(c.CFMin) > c.CCTimer:
			p.Add(at.Where("cf-min"), "link %s: %v between CF_Updates take %v at %v, longer than the timer of CC_Updates, %v: the credits that these give back would wait for the next one",
				l.Name, c.CFMin, slowest.Serialise(c.CFMin), slowest, c.CCTimer)
		}
	}
}
