package dump

import (
	"slices"
	"strconv"
	"strings"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// laneCredit is the credit of a lane at the port that sends on it.
type laneCredit struct {
	sent, limit uint16
	outbound    bool // the capture has the flow control packets that this port sends
	sentKnown   bool // FCTBS is known
	limitKnown  bool
	coming      []grant // limits that are not due yet
}

// grant is a limit that counts from an instant on.
type grant struct {
	due   unit.Time
	limit uint16
}

// modulus and half are the range of block counters, and how far a limit may be ahead
// (IBTA Volume 1, 7.9.4.3).
const (
	modulus = 4096
	half    = modulus / 2
)

func (c *Checker) credit(at where, lane uint8) *laneCredit { return entry(&c.port(at).lanes, lane) }

// grant takes a flow control packet: the blocks that its sender has sent, and the limit of its
// peer.
func (c *Checker) grant(p *Packet, at where, out bool) {
	f := &p.Frame
	if out {
		a := c.credit(at, f.Lane)
		if a.sentKnown && f.Credit().Op != wire.OpInit { // with that a link begins again
			c.Checked[Credit]++
			if a.sent != f.Credit().FCTBS {
				c.found(p, Credit, "lane %d: FCTBS states that %d blocks were sent, the capture has %d",
					f.Lane, f.Credit().FCTBS, a.sent)
			}
		}
		a.sent, a.sentKnown, a.outbound = f.Credit().FCTBS, true, true
	}
	switch {
	case p.Carried:
		a := c.credit(at.peer(), f.Lane)
		a.coming = append(a.coming, grant{p.Trailer.Due, f.Credit().FCCL})
	case !out:
		a := c.credit(at, f.Lane)
		if f.Credit().Op == wire.OpInit && !a.sentKnown { // nothing is sent before it
			a.sent, a.sentKnown = 0, true
		}
		a.limit, a.limitKnown = f.Credit().FCCL, true
		if !a.outbound {
			c.Gaps[NoTally]++
		}
	}
}

// checkCredit checks that there was credit for a frame that was sent.
func (c *Checker) checkCredit(p *Packet, at where) {
	n, blocks := p.Frame.Lane, p.Frame.Blocks()
	switch {
	case p.Frame.Kind == wire.Management: // VL15 has no credits
		return
	case p.Frame.Delimiter() == wire.DataPacket:
	case p.Headers != nil && p.Headers.Local: // another program wrote it, but a link carried it all the same
		n, blocks = p.Headers.LRH.VL, wire.BlocksOf(unit.Size(p.Size))
	default:
		return
	}
	a := c.credit(at, n)
	for len(a.coming) > 0 && a.coming[0].due <= p.Trailer.Head {
		a.limit, a.limitKnown = a.coming[0].limit, true
		a.coming = slices.Delete(a.coming, 0, 1)
	}
	a.sent = (a.sent + uint16(blocks)) % modulus
	if !a.sentKnown || !a.limitKnown {
		c.Gaps[NoCredit]++
		if left, stated := p.creditLeft(); stated && a.limitKnown { // from here on it can be computed
			a.sent, a.sentKnown = (a.limit-left)%modulus, true
		}
		return
	}
	c.Checked[Credit]++
	if (a.limit-a.sent)%modulus > half {
		c.exceeded(p, at, Credit, "lane %d is overdrawn: %d blocks were sent with this frame of %d, the limit is %d",
			n, a.sent, blocks, a.limit)
	}
}

// creditLeft returns the credit that the sender has left, if the capture of a run states it.
func (p *Packet) creditLeft() (blocks uint16, stated bool) {
	_, text, _ := strings.Cut(p.Comment, "credit ")
	text, _, stated = strings.Cut(text, " blocks")
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), stated && err == nil
}

// counter is a cyclic counter of credits of a virtual channel.
type counter struct {
	channel  uint8
	consumed bool // of a CC_Update; else of a CF_Update
	out      bool // in messages that the port has sent
}

// counters takes a CF_Update or a CC_Update: the counters in it only rise, by less than three
// quarters of their range.
func (c *Checker) counters(p *Packet, at where, out bool) {
	risen := func(k counter, v, cycle uint32) {
		c.Checked[Credit]++
		was := entry(&c.port(at).counters, k)
		if *was > 0 && (v-(*was-1))%cycle >= cycle-cycle/4 {
			c.found(p, Credit, "channel %d: the counter was %d, and runs back to %d", k.channel, *was-1, v)
		}
		*was = v + 1
	}
	f := &p.Frame
	if f.Kind == wire.CCUpdate {
		for vc := range uint8(wire.Channels) {
			if v, about := f.CC().Consumed(vc); about {
				risen(counter{vc, true, out}, v, wire.CreditModulus)
			}
		}
		return
	}
	for _, word := range []uint32{f.OrderedSet().First, f.OrderedSet().Second} {
		vc, v := wire.ChannelOf(word)
		risen(counter{vc, false, out}, v, wire.CountMask+1)
	}
}
