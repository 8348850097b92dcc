package dump

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/port"
)

// channels are the parameters of the credits of virtual channels at a port.
type channels struct {
	framing wire.Framing
	port.CBFC
}

// channelsOf reads the parameters in the comment of an interface; nil: there are none.
func (d *Decoder) channelsOf(comment string) *channels {
	if c, known := d.parameters[comment]; known || comment == "" {
		return c
	}
	if d.parameters == nil {
		d.parameters = map[string]*channels{}
	}
	var c channels
	var of []byte
	_, err := fmt.Sscanf(comment, "cbfc framing=%d credit=%d overhead=%d limit=%d port-limit=%d lossless=%x channels=%x",
		&c.framing, &c.Credit, &c.Overhead, &c.Limit, &c.PortLimit, &c.Lossless, &of)
	if d.parameters[comment] = nil; err == nil && c.Credit > 0 && copy(c.Channels[:], of) == len(c.Channels) {
		d.parameters[comment] = &c
	}
	return d.parameters[comment]
}

// channel is the credit of a virtual channel at the port that sends on it.
type channel struct {
	used       int    // credits in use
	freed      uint32 // the counter of the last CF_Update
	sent       uint32 // credits of the frames since the last CC_Update that left
	consumed   uint32 // the counter of that
	usedKnown  bool
	freedKnown bool
	sentKnown  bool
}

// checkMessage takes a CF_Update that comes, whose credits are free, and a CC_Update that leaves,
// which must count the credits of all frames since the one before it.
func (c *Checker) checkMessage(p *Packet, at where, out bool) {
	f := &p.Frame
	if p.channels == nil || (f.Kind == wire.CCUpdate) != out {
		return
	}
	if out {
		for vc, ch := range c.port(at).channels {
			if v, about := f.CC().Consumed(vc); about {
				c.tally(p, vc, ch, v)
			}
		}
		return
	}
	for _, word := range []uint32{f.OrderedSet().First, f.OrderedSet().Second} {
		vc, v := wire.ChannelOf(word)
		ch := entry(&c.port(at).channels, vc)
		if more := int((v - ch.freed) & wire.CountMask); ch.freedKnown && ch.usedKnown && more <= ch.used {
			ch.used -= more
		} else if !ch.freedKnown {
			ch.usedKnown = false // how much of it was free before is not known
		} else if ch.usedKnown {
			continue // it runs backwards, and has no effect
		}
		ch.freed, ch.freedKnown = v, true
	}
}

// tally compares the counter in a CC_Update with the frames since the one before it.
func (c *Checker) tally(p *Packet, vc uint8, ch *channel, v uint32) {
	if ch.sentKnown {
		c.Checked[Credit]++
		if more := (v - ch.consumed) & (wire.CreditModulus - 1); more != ch.sent {
			c.found(p, Credit, "channel %d: the CC_Update has %d credits more, the frames %d", vc, more, ch.sent)
		}
	}
	ch.sent, ch.consumed, ch.sentKnown = 0, v, true
}

// checkChannel checks that there were credits for a frame that was sent for the first time.
func (c *Checker) checkChannel(p *Packet, at where) {
	x, f := p.channels, &p.Frame
	if x == nil || f.Kind == 0 || f.Kind.Control() || x.Lossless>>(f.Lane&7)&1 == 0 {
		return
	}
	vc := x.Channels[f.Lane&7]
	ch, k := entry(&c.port(at).channels, vc), x.Credits(x.framing.Length(f))
	ch.used += k
	ch.sent += uint32(k)
	left, stated := p.creditLeft()
	if !ch.usedKnown {
		c.Gaps[NoCredit]++
		ch.used, ch.usedKnown = x.Room()-int(left), stated
		if stated && ch.used < k {
			c.found(p, Credit, "channel %d is overdrawn: %d credits are left behind this frame of %d, of %d", vc, left, k, x.Room())
		}
		return
	}
	c.Checked[Credit]++
	all := 0
	for _, ch := range c.port(at).channels {
		all += ch.used
	}
	switch {
	case ch.used > x.Room():
		c.found(p, Credit, "channel %d is overdrawn: %d credits are in use with this frame of %d, of %d", vc, ch.used, k, x.Room())
	case x.PortLimit > 0 && all > x.PortLimit:
		c.found(p, Credit, "the port is overdrawn: %d credits are in use with this frame of %d, of %d", all, k, x.PortLimit)
	case stated && int(left) > x.Room()-ch.used:
		c.found(p, Credit, "channel %d: %d credits are left, and the run states %d", vc, x.Room()-ch.used, left)
	}
}
