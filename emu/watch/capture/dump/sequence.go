package dump

import (
	"fmt"
	"strings"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
)

// sequence names a sequence of numbers at a port: of a link, or of a flow.
type sequence struct {
	direction pcapng.Direction
	kind      wire.Kind
	src       wire.LID
	qp        uint32
}

// number is the last number of a sequence.
type number struct {
	last uint32
	seen bool
}

// packet is one of a flow.
type packet struct{ qp, psn uint32 }

// checkSequence checks that nothing is missing in front of a packet.
func (c *Checker) checkSequence(p *Packet, at where) {
	if p.Carried {
		c.checkLink(p, at)
	} else if p.Direction == pcapng.Outbound {
		c.checkRetry(p, at)
	}
	f := &p.Frame
	if f.Kind != wire.Data && f.Kind != wire.Ack || f.Family >= wire.RoCEv2 || c.layout.byPacket { // they are followed from end to end
		return
	}
	if strings.Contains(p.Comment, "dropped: ") {
		c.dropped[packet{f.QP, f.PSN}] = true
	}
	n := entry(&c.port(at).numbers, sequence{p.Direction, f.Kind, f.Src, f.QP})
	if n.seen {
		c.Checked[Sequence]++
		ahead := (f.PSN - n.last - 1) & 0xFFFFFF
		if ahead >= 1<<23 {
			return // sent again, or by a longer path: there is no gap, nor behind it
		}
		switch {
		case ahead == 0:
		case c.droppedOf(f.QP, n.last+1, ahead) == ahead:
			c.Gaps[Dropped] += int(ahead)
		default:
			c.found(p, Sequence, "%v of queue pair %d: packet %d follows %d", f.Kind, f.QP, f.PSN, n.last)
		}
	}
	*n = number{f.PSN, true}
}

// checkLink checks the number that a link gave to a frame.
func (c *Checker) checkLink(p *Packet, at where) {
	port := c.port(at)
	s := sequence{direction: pcapng.Outbound}
	n := entry(&port.numbers, s)
	switch ahead := int32(p.Trailer.Seq - n.last - 1); {
	case !n.seen:
		c.doubt(len(port.suspects))
	case ahead > 0: // the link may have lost them, or the capture
		c.missing(p, int(ahead), "port %d: sequence %d follows %d", p.Trailer.Port, p.Trailer.Seq, n.last)
		c.doubt(len(port.suspects))
		c.forget(at, at.peer())
	default:
		c.Checked[Sequence]++
		if ahead < 0 {
			c.found(p, Sequence, "port %d: sequence %d follows %d", p.Trailer.Port, p.Trailer.Seq, n.last)
		}
		c.report(port.suspects...)
		c.checkRetry(p, at)
	}
	port.suspects = nil
	*entry(&port.numbers, s) = number{p.Trailer.Seq, true}
}

// retried is the record of the retry of a link at the port that sends.
type retried struct {
	last, acked    uint32 // the sequence that was sent last, and the last that the peer has acknowledged
	seen, answered bool   // last, and acked, are known
	asked          bool   // by a NACK: the frame behind acked comes next
}

// retrySet takes an ACK or a NACK that comes. After a handshake nothing of before is retransmitted.
func (c *Checker) retrySet(p *Packet, at where, out bool) {
	r, kind, first := &c.port(at).retry, p.Frame.Kind, p.Frame.OrderedSet().First
	switch {
	case p.Carried: // when it comes is not known
	case kind == wire.LLRInitEcho && !out || kind == wire.LLRInit && out:
		*r = retried{last: r.last, seen: r.seen}
	case out || !r.seen || (r.last-first)&wire.MaxSequence > wire.MaxSequence/2:
	case !r.answered || (first-r.acked)&wire.MaxSequence <= wire.MaxSequence/2:
		r.acked, r.answered, r.asked = first, true, kind == wire.LLRNack
	}
}

// checkRetry checks the sequence that the retry of a link gave to a frame: it is the next one, or
// one that was sent before and awaits its ACK; after a NACK it is the one that the peer awaits.
// After a flush numbering continues.
func (c *Checker) checkRetry(p *Packet, at where) {
	sent, ok := p.Trailer.Preamble.Sequence()
	if !ok {
		return
	}
	r := &c.port(at).retry
	ahead := (sent - r.last - 1) & wire.MaxSequence
	if r.seen {
		c.Checked[Sequence]++
	}
	switch p.again = r.seen && ahead > wire.MaxSequence/2; {
	case r.asked && sent != (r.acked+1)&wire.MaxSequence:
		c.found(p, Sequence, "%s: retry sequence %d follows a NACK that awaits %d", p.at(), sent, (r.acked+1)&wire.MaxSequence)
	case p.again && r.answered && (r.acked-sent)&wire.MaxSequence <= wire.MaxSequence/2:
		c.found(p, Sequence, "%s: retry sequence %d is retransmitted although its ACK has arrived", p.at(), sent)
	case r.seen && !p.again && ahead > 0:
		c.found(p, Sequence, "%s: retry sequence %d follows %d", p.at(), sent, r.last)
	}
	if r.asked = false; !p.again {
		r.last, r.seen = sent, true
	}
}

// at names the port of a packet that was sent.
func (p *Packet) at() string {
	if p.Carried {
		return fmt.Sprintf("port %d", p.Trailer.Port)
	}
	return p.Port
}

// droppedOf returns how many of n packets of a flow, from psn on, the capture reports as dropped.
func (c *Checker) droppedOf(qp, psn, n uint32) (dropped uint32) {
	for k := range min(n, uint32(len(c.dropped))) {
		if c.dropped[packet{qp, (psn + k) & 0xFFFFFF}] {
			dropped++
		}
	}
	return dropped
}
