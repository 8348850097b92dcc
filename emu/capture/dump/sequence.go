package dump

import (
	"strings"

	"fabemu/emu/capture/pcapng"
	"fabemu/wire"
)

// sequence is what is numbered.
type sequence struct {
	where
	direction pcapng.Direction
	kind      wire.Kind
	src       wire.LID
	qp        uint32
}

// packet is one of a flow.
type packet struct{ qp, psn uint32 }

// sequence checks that nothing is missing in front of a packet.
func (c *Checker) sequence(p *Packet, at where) {
	if p.Carried {
		if c.begun[at] != p.Trailer.Incarnation { // its link was down: nobody is paused
			c.begun[at] = p.Trailer.Incarnation
			delete(c.pauses, at)
			delete(c.pauses, at.peer())
		}
		s := sequence{where: at, direction: pcapng.Outbound, qp: uint32(p.Trailer.Incarnation)}
		last, seen := c.sequences[s]
		switch ahead := int32(p.Trailer.Seq - last - 1); {
		case !seen:
			c.doubt(len(c.suspects[at]))
		case ahead > 0: // nobody can tell whether the link lost them or who captured it
			c.missing(p, int(ahead), "port %d: sequence %d comes after %d", p.Trailer.Port, p.Trailer.Seq, last)
			c.doubt(len(c.suspects[at]))
			c.forget(func(w where) bool { return w == at || w == at.peer() })
		default:
			c.Checked[Sequence]++
			if ahead < 0 {
				c.found(p, Sequence, "port %d: sequence %d comes after %d", p.Trailer.Port, p.Trailer.Seq, last)
			}
			c.report(c.suspects[at]...)
		}
		delete(c.suspects, at)
		c.sequences[s] = p.Trailer.Seq
	}
	f := &p.Frame
	if f.Kind != wire.Data && f.Kind != wire.Ack || f.Family == wire.RoCEv2 { // which sends again what is lost, and has ACKs for many
		return
	}
	if strings.Contains(p.Comment, "dropped: ") {
		c.dropped[packet{f.QP, f.PSN}] = true
	}
	s := sequence{at, p.Direction, f.Kind, f.Src, f.QP}
	last, seen := c.sequences[s]
	if seen {
		c.Checked[Sequence]++
		ahead := (f.PSN - last - 1) & 0xFFFFFF
		if ahead >= 1<<23 {
			return // sent again, or by a longer way: no gap, nor is what goes on behind it
		}
		switch {
		case ahead == 0:
		case c.droppedOf(f.QP, last+1, ahead) == ahead:
			c.Gaps[Dropped] += int(ahead)
		default:
			c.found(p, Sequence, "%v of queue pair %d: packet %d comes after %d", f.Kind, f.QP, f.PSN, last)
		}
	}
	c.sequences[s] = f.PSN
}

// droppedOf returns how many of n packets of a flow, from psn on, the capture says to be dropped.
func (c *Checker) droppedOf(qp, psn, n uint32) (dropped uint32) {
	for k := range min(n, uint32(len(c.dropped))) {
		if c.dropped[packet{qp, (psn + k) & 0xFFFFFF}] {
			dropped++
		}
	}
	return dropped
}
