package dump

import (
	"slices"
	"strconv"
	"strings"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// lane is one of a port.
type lane struct {
	where
	lane uint8
}

// account is the credit of a lane at the port that sends on it.
type account struct {
	sent, limit uint16
	tells       bool // it is here that its flow control packets are seen as they leave
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

// told takes in a flow control packet: what its sender has sent, and how far its
// peer may go.
func (c *Checker) told(p *Packet, at where, out bool) {
	f := &p.Frame
	if out {
		a := known(c.lanes, lane{at, f.Lane})
		if a.sentKnown && f.Credit().Op != wire.OpInit { // with that a link begins anew
			c.Checked[Credit]++
			if a.sent != f.Credit().FCTBS {
				c.found(p, Credit, "lane %d: FCTBS says that %d blocks were sent, the capture has %d",
					f.Lane, f.Credit().FCTBS, a.sent)
			}
		}
		a.sent, a.sentKnown, a.tells = f.Credit().FCTBS, true, true
	}
	switch {
	case p.Carried:
		a := known(c.lanes, lane{at.peer(), f.Lane})
		a.coming = append(a.coming, grant{p.Trailer.Due, f.Credit().FCCL})
	case !out:
		a := known(c.lanes, lane{at, f.Lane})
		if f.Credit().Op == wire.OpInit && !a.sentKnown { // nothing is sent before it
			a.sent, a.sentKnown = 0, true
		}
		a.limit, a.limitKnown = f.Credit().FCCL, true
		if !a.tells {
			c.Gaps[NoTally]++
		}
	}
}

// credit checks that there was credit for a frame that was sent.
func (c *Checker) credit(p *Packet, at where) {
	n, blocks := p.Frame.Lane, p.Frame.Blocks()
	switch {
	case p.Frame.Delimiter() == wire.DataPacket:
	case p.Headers != nil && p.Headers.Local: // others have written it, but it was carried all the same
		n, blocks = p.Headers.LRH.VL, wire.BlocksOf(unit.Size(p.Size))
	default:
		return
	}
	a := known(c.lanes, lane{at, n})
	for len(a.coming) > 0 && a.coming[0].due <= p.Trailer.Head {
		a.limit, a.limitKnown = a.coming[0].limit, true
		a.coming = slices.Delete(a.coming, 0, 1)
	}
	a.sent = (a.sent + uint16(blocks)) % modulus
	if !a.sentKnown || !a.limitKnown {
		c.Gaps[NoCredit]++
		if left, said := p.creditLeft(); said && a.limitKnown { // from here on it is reckoned
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

// creditLeft returns what the sender says to be left of its credit, in a capture of a run.
func (p *Packet) creditLeft() (blocks uint16, said bool) {
	_, text, _ := strings.Cut(p.Comment, "credit ")
	text, _, said = strings.Cut(text, " blocks")
	n, err := strconv.ParseUint(text, 10, 12)
	return uint16(n), said && err == nil
}
