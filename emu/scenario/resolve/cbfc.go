package resolve

import (
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/port"
)

// checkChannels refuses a link whose credits for virtual channels are too few for a frame, and one
// whose messages about them come too rarely.
func (r *resolver) checkChannels() {
	for l, of := range each(r.s.Links, r.LinkOrigins) {
		v := of.View.Sub("cbfc")
		if l.FlowControl != port.ChannelCredits {
			continue
		}
		at := func(key string) yaml.Spot { return v.Spot(key, of.View.Spot("cbfc", of.Spot)) }
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
		frame := r.LongestOfChannels(of.Index)
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
