package dump

import (
	"slices"

	"fabemu/emu/watch/capture/pcapng"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// This file has what is checked of packets of Ultra Ethernet transport alone: what ACKs and NACKs
// say, that each trimmed packet is asked for and sent again, and credit.

// context is the state of a packet delivery context.
type context struct {
	ordered bool
	arrived uint64       // copies and headers that have begun to arrive
	trimmed []headersOf  // of packets that had not come, and are not answered; in their order
	order   []arrivalOf  // of the last packets that have begun to arrive, in their order
	owed    int          // packets that the source knows to be wanted, and has not sent again
	credit  creditOfFlow // as the source has it
}

// headersOf are the headers of a trimmed packet.
type headersOf struct{ number, at uint64 }

// arrivalOf is a copy of a packet.
type arrivalOf struct{ number, at uint64 }

// creditOfFlow is the credit of a flow, in bytes.
type creditOfFlow struct {
	heard bool      // something has come back: the credit of the start is void
	given unit.Size // the sum that the destination has given
	known unit.Size // the sum that may have come to the source
	spent unit.Size // since the source has heard
}

// fewest is how many arrivals are remembered to compare ACKs with.
const fewest = 1 << 12

// leavesUltra takes a packet that its source sends.
func (c *Checker) leavesUltra(p *Packet, t *travel, n int64) {
	f, u := &p.Frame, t.ultra
	x, flags := f.UET(), f.UET().Flags
	u.ordered = flags&wire.UETOrdered != 0
	again, before := flags&wire.UETRetransmitted != 0, t.of(n)
	switch {
	case again && n >= int64(t.next):
		c.found(p, Deliveries, "%s sends packet %d as a retransmission, and has not sent it before", c.flowName(t.QP), n)
	case !again && n < int64(t.next):
		c.found(p, Deliveries, "%s sends packet %d again, and not as a retransmission", c.flowName(t.QP), n)
	}
	if clear := n + int64(x.Offset); clear >= int64(t.turn) {
		if t.advance(); clear >= int64(t.turn) {
			c.found(p, Deliveries, "%s: packet %d says that all packets up to %d have come, and %d has not", c.flowName(t.QP), n, clear, t.turn)
		}
	}
	if before != nil && before.owed {
		before.owed = false
		u.owed--
	}
	if u.owed > 0 && n >= int64(t.next) && !c.disturbed {
		for i := range t.parcels {
			y := &t.parcels[i]
			if !y.owed {
				continue
			}
			if y.owed = false; !t.acknowledged(t.first + uint64(i)) {
				c.found(p, Deliveries, "%s sends packet %d, and has not sent %d again, for which a NACK had come", c.flowName(t.QP), n, t.first+uint64(i))
			}
		}
		u.owed = 0
	}
	if flags&wire.UETState == 0 || !u.credit.heard {
		return
	}
	if c.Checked[Credit]++; u.credit.spent >= u.credit.known && !c.disturbed {
		c.found(p, Credit, "%s has credit for %v, and has sent %v before packet %d", c.flowName(t.QP), u.credit.known, u.credit.spent, n)
		u.credit.spent = u.credit.known // it is said once
	}
	u.credit.spent += wire.PaperFraming.Length(f) // with the other framing it spends more
}

// arrivesUltra takes a copy of a packet that begins to arrive so far ahead of its turn. In ordered
// delivery it is then to be dropped.
func (t *travel) arrivesUltra(p *Packet, x *parcel, ahead int64) {
	u := t.ultra
	if u == nil {
		return
	}
	u.arrived++
	if len(u.order) >= 2*fewest {
		u.order = slices.Delete(u.order, 0, fewest)
	}
	u.order = append(u.order, arrivalOf{uint64(t.numberOf(p.Frame.PSN, t.next)), u.arrived})
	if u.ordered && ahead > 0 {
		x.refused++
		x.stray++
	}
}

// headersUltra takes the headers of a trimmed packet that begin to arrive.
func (t *travel) headersUltra(x *parcel, n int64) {
	if u := t.ultra; u != nil {
		if u.arrived++; !x.came() && len(u.trimmed) < remembered {
			u.trimmed = append(u.trimmed, headersOf{uint64(n), u.arrived})
		}
	}
}

// dropHeaders takes the report that the destination has dropped a frame, which may be the headers
// of a packet.
func (t *travel) dropHeaders(n uint64) {
	if u := t.ultra; u != nil {
		if i := slices.IndexFunc(u.trimmed, func(h headersOf) bool { return h.number == n }); i >= 0 {
			u.trimmed = slices.Delete(u.trimmed, i, i+1)
		}
	}
}

// answerUltra reads an ACK or a NACK.
func (t *travel) answerUltra(f *wire.Frame, a *answer) {
	x := f.UET()
	if f.RoCE().NAK {
		a.before = 0
		a.wanted, a.again = uint64(max(t.numberOf(f.PSN, t.turn), 0))+1, x.Flags&wire.UETRetransmitted != 0
		return
	}
	if x.Flags&wire.UETState != 0 {
		base, bitmap := t.numberOf(f.PSN+uint32(int32(x.BitmapOffset)), t.turn), x.Bitmap
		if base < 0 { // there is no packet before the first
			bitmap >>= min(uint64(-base), 64)
			base = 0
		}
		a.base, a.bitmap = uint64(base), bitmap
	}
}

// learnUltra has the source take in an ACK or a NACK.
func (t *travel) learnUltra(a *answer) {
	u := t.ultra
	if u == nil {
		return
	}
	u.credit.heard = true
	for i := uint64(0); a.bitmap>>i != 0; i++ {
		if x := t.of(int64(a.base + i)); x != nil && a.bitmap>>i&1 == 1 {
			t.acknowledge(x)
		}
	}
	if x := t.of(int64(a.wanted) - 1); x != nil && !x.acked && !x.owed && (x.sent > 1) == a.again && x.sentAt < a.at {
		x.owed = true
		u.owed++
	}
}

// acknowledged reports whether an answer that may have come to the source says that a packet has
// come.
func (t *travel) acknowledged(n uint64) bool {
	return slices.ContainsFunc(t.acks, func(a answer) bool { return n < a.before || n >= a.base && a.bitmap>>(n-a.base)&1 == 1 })
}

// acknowledge notes that the source knows that a packet has come.
func (t *travel) acknowledge(x *parcel) {
	if x.acked = true; x.owed {
		x.owed = false
		t.ultra.owed--
	}
}

// answersUltra takes an ACK or a NACK that the destination sends.
func (c *Checker) answersUltra(p *Packet, t *travel, a *answer) {
	f, u := &p.Frame, t.ultra
	t.selective = true
	if a.wanted > 0 {
		c.refuses(p, t, a.wanted-1)
		return
	}
	for i := uint64(0); a.bitmap>>i != 0; i++ {
		if a.bitmap>>i&1 == 0 {
			continue
		}
		if x := t.of(int64(a.base + i)); x == nil && a.base+i >= t.first || x != nil && !x.came() {
			c.found(p, Deliveries, "%s: the bitmap of an ACK names packet %d, which has not come", c.flowName(t.QP), a.base+i)
			break
		}
	}
	if f.UET().Flags&wire.UETProbed != 0 || len(u.trimmed) == 0 {
		return
	}
	n := uint64(max(t.numberOf(f.PSN+uint32(int32(f.UET().Offset)), t.turn), 0))
	if x := t.of(int64(n)); x == nil || x.arrived != 1 || x.headers > 0 {
		return
	}
	if i := slices.IndexFunc(u.order, func(y arrivalOf) bool { return y.number == n }); i >= 0 {
		c.unanswered(p, t, u.order[i].at)
	}
}

// refuses takes a NACK for a packet.
func (c *Checker) refuses(p *Packet, t *travel, n uint64) {
	u, x, code := t.ultra, t.of(int64(n)), p.Frame.UET().Code
	trimmed := code == wire.NackTrimmed || code == wire.NackTrimmedLastHop
	switch {
	case x == nil && n < t.first: // very old
	case x == nil:
		c.found(p, Deliveries, "%s: a NACK names packet %d, which was not sent", c.flowName(t.QP), n)
	case trimmed && x.refusals >= x.headers:
		c.found(p, Deliveries, "%s: a NACK says that packet %d was trimmed, whose headers have not come", c.flowName(t.QP), n)
	case trimmed:
		x.refusals++
		if i := slices.IndexFunc(u.trimmed, func(h headersOf) bool { return h.number == n }); i >= 0 {
			c.unanswered(p, t, u.trimmed[i].at)
			t.dropHeaders(n)
		}
	case x.arrived == 0:
		c.found(p, Deliveries, "%s: a NACK refuses packet %d, which has not come", c.flowName(t.QP), n)
	}
}

// unanswered reports the headers of trimmed packets that have come before an arrival which is
// answered: answers leave in the order of what they answer.
func (c *Checker) unanswered(p *Packet, t *travel, at uint64) {
	u := t.ultra
	for len(u.trimmed) > 0 && u.trimmed[0].at < at {
		if !c.disturbed {
			c.found(p, Deliveries, "%s: headers of packet %d have come, and no NACK has answered them before what came later", c.flowName(t.QP), u.trimmed[0].number)
		}
		u.trimmed = slices.Delete(u.trimmed, 0, 1)
	}
}

// controls takes a control packet.
func (c *Checker) controls(p *Packet, t *travel) {
	f, u, e := &p.Frame, t.ultra, c.endsOf(p)
	code := f.UET().Code
	if code != wire.UETCredit {
		if f.Src != t.src || f.Dst != t.dst {
			t.unclear = true
		}
		return
	}
	if f.Src != t.dst || f.Dst != t.src {
		t.unclear = true
		return
	}
	if p.Direction == pcapng.Outbound && e.here == t.dst {
		c.Checked[Credit]++
		sum := f.CreditSince(u.credit.given)
		if sum < u.credit.given && !c.disturbed {
			c.found(p, Credit, "%s: the sum of credit is %v, and was %v before", c.flowName(t.QP), sum, u.credit.given)
		}
		u.credit.given = max(u.credit.given, sum)
	}
	if e.there == t.src || e.here == t.src {
		u.credit.known = max(u.credit.known, f.CreditSince(u.credit.known))
		c.returns(p, t, answer{psn: f.PSN, at: p.Time})
	}
}
