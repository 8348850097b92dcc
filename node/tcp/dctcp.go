package tcp

import (
	"fabemu/wire"
)

// Data Center TCP (RFC 8257): the receiver echoes each mark, the sender estimates the fraction
// alpha of marked bytes, and a mark takes alpha/2 off the window instead of a half. The switches
// on the path mark above one length of the queue.

// Congestion is the rule by which a sender lowers its window when a mark comes.
type Congestion uint8

// The rules.
const (
	Classic Congestion = iota // to the half (RFC 3168)
	DCTCP                     // by the fraction of bytes that were marked (RFC 8257)
)

func (Congestion) Words() []string { return []string{"classic", "dctcp"} }

// fraction is the estimate of the share of bytes that were marked (RFC 8257, section 3.3).
type fraction struct {
	alpha         float64
	acked, marked uint64 // bytes of this observation window
	end           uint64 // the position that ends it
}

// observe takes in the ACK of this many bytes up to a position, with or without an echo. Everything
// below nxt has been sent. Blocks of SACK do not count.
func (f *fraction) observe(p *Params, ack, news, nxt uint64, echo bool) {
	f.acked += news
	if echo {
		f.marked += news
	}
	if ack <= f.end {
		return
	}
	share := float64(f.marked) / float64(f.acked)
	f.alpha = float64(f.alpha*(1-p.Gain)) + float64(p.Gain*share) // rounded apart on every processor
	f.acked, f.marked, f.end = 0, 0, nxt
}

// afterMark returns the threshold when a mark has come. The first echo of a window lowers it at
// once, as in Linux, by the estimate of the windows that have ended; the ACK with the echo may be
// the one that ends the last of them. Step 9 of RFC 8257 could also be read to wait for the end of
// the observation window, and a queue would grow for one more round trip.
func (s *Sender) afterMark(flight uint64) uint64 {
	if s.p.Congestion == DCTCP {
		return max(uint64(float64(s.cwnd)*(1-s.alpha/2)), 2*s.mss)
	}
	return s.half(flight)
}

// echoes takes in whether a segment with data came marked. With DCTCP an ACK has ECE if and only if
// the segments that it acknowledges were marked: where that changes, the segments before are
// acknowledged by a separate ACK (RFC 8257, section 3.2).
func (r *Receiver) echoes(g *wire.Segment) {
	if r.p.Congestion != DCTCP {
		r.echo = (r.echo && g.Flags&wire.CWR == 0) || g.CE // RFC 3168, section 6.1.3
		return
	}
	if g.CE == r.echo {
		return
	}
	if r.pending > 0 {
		r.before = r.nxt
	}
	r.echo, r.answer = g.CE, true
}

// nextBefore completes the ACK of the segments before the change of marks.
func (r *Receiver) nextBefore(g wire.Segment) wire.Segment {
	g.Ack, g.Window = r.irs+uint32(r.before), uint16((r.edge-r.before)>>r.shift)
	if !r.echo {
		g.Flags |= wire.ECE
	}
	r.before = 0
	return g
}
