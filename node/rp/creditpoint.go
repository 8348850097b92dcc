package rp

import (
	"math"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// CreditPoint is the part of RCCC at the destination of a flow. All flows of an algorithm that end
// at an endpoint share what gives credit: those that ask for more than they were given take turns,
// a frame of credit each. When none asks, flows are given credit unasked, also in turns, up to a
// window more than they have asked for: so a flow goes on whose request was lost.
type CreditPoint struct {
	of           *creditors
	asked, given int64 // sums
	most         int64 // of credit that it is given unasked
	qp           uint32
	in           *creditList // where it waits; nil: nowhere
	before, next *CreditPoint
}

// creditList is a list of flows that wait.
type creditList struct{ first, last *CreditPoint }

func (l *creditList) push(c *CreditPoint) {
	c.leave()
	c.in, c.before, c.next = l, l.last, nil
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
}

// leave takes a flow out of the list that it waits in.
func (c *CreditPoint) leave() {
	if c.in == nil {
		return
	}
	if c.before == nil {
		c.in.first = c.next
	} else {
		c.before.next = c.next
	}
	if c.next == nil {
		c.in.last = c.before
	} else {
		c.next.before = c.before
	}
	c.in, c.before, c.next = nil, nil, nil
}

// creditors are the flows at an endpoint that take turns.
type creditors struct {
	p       CreditParams
	grant   int64     // in units
	unit    float64   // picoseconds per unit at the full rate
	at      unit.Time // no frame leaves before
	asking  creditList
	unasked creditList
	fabric  fabricCredit
}

func newCreditPoint(t Trip, p CreditParams, s Site) *CreditPoint {
	c := &CreditPoint{most: t.most(s) >> creditShift}
	if other, ok := s.Beside.(*CreditPoint); ok {
		c.of = other.of
		return c
	}
	c.of = &creditors{p: p, grant: int64(p.Grant) >> creditShift,
		unit: float64(int64(8 * float64(wire.CreditUnit) * 1e12 / float64(s.Line) / p.CreditShare))}
	c.of.fabric = fabricCredit{rate: 1, random: s.Random, interval: 1.5 * float64(t.base(s))}
	return c
}

// Refuses returns that of control frames it takes in requests for credit.
func (*CreditPoint) Refuses(_ unit.Time, f wire.Frame) trace.Reason {
	if f.Kind == wire.UETControl && f.UET().Code != wire.UETCreditRequest {
		return trace.NotAwaited
	}
	return trace.NoReason
}

// Receive takes in a packet that has come, one that was trimmed, or a request.
func (c *CreditPoint) Receive(now unit.Time, f wire.Frame) {
	c.qp = f.QP
	fabric, flags := &c.of.fabric, f.UET().Flags
	fabric.settle(now, &c.of.p)
	switch {
	case f.Kind == wire.Data:
		fabric.came++
		if f.FECN {
			fabric.marked++
		}
		if flags&wire.UETState == 0 {
			return
		}
	case f.Kind == wire.Trimmed && flags&wire.UETLastHop != 0:
		fabric.came++
		fabric.trimmedHere++
	case f.Kind == wire.Trimmed:
		fabric.came++
		fabric.trimmed++
	}
	c.ask(int64(f.CreditSince(unit.Size(c.asked<<creditShift))) >> creditShift)
	if f.Kind != wire.Data {
		c.insist()
	}
}

// Send returns a frame of credit.
func (c *CreditPoint) Send(now unit.Time) (f wire.Frame, ok bool) {
	if c.of.turn() != c || c.of.at > now {
		return f, false
	}
	c.give(now)
	f = wire.Frame{Kind: wire.UETControl, Family: wire.UET}
	f.UET().Code = wire.UETCredit
	f.SetCredit(unit.Size(c.given << creditShift))
	return f, true
}

// ask takes in up to which sum the source asks for credit.
func (c *CreditPoint) ask(sum int64) {
	if sum > c.asked {
		if c.asked = sum; c.in != &c.of.asking {
			c.of.asking.push(c)
		}
	}
}

// insist has the flow take a turn whether or not it asks for more.
func (c *CreditPoint) insist() {
	if c.in != &c.of.asking {
		c.of.asking.push(c)
	}
}

// turn returns the flow whose turn it is; nil: none waits.
func (g *creditors) turn() *CreditPoint {
	if g.asking.first != nil {
		return g.asking.first
	}
	return g.unasked.first
}

// give gives the flow whose turn it is its credit.
func (c *CreditPoint) give(now unit.Time) {
	g := c.of
	var given int64
	if c.in == &g.asking {
		given = max(min(g.grant, c.asked-c.given), 0)
		if c.given += given; c.asked > c.given {
			g.asking.push(c)
		} else {
			g.unasked.push(c)
		}
	} else {
		given = g.grant
		if c.given += given; c.asked >= c.given || c.given-c.asked < c.most {
			g.unasked.push(c)
		} else {
			c.leave()
		}
	}
	if given == 0 {
		given = int64(g.p.LeastGap) >> creditShift
	}
	g.fabric.settle(now, &g.p)
	g.at = now.Add(unit.Duration(float64(int64(g.unit/g.fabric.rate)) * float64(given)))
}

// Deadline returns when the flow is given credit; unit.Never while others have their turns.
func (c *CreditPoint) Deadline() unit.Time {
	if c.of.turn() == c {
		return c.of.at
	}
	return unit.Never
}

// Turn returns the flow that is given credit next, and when.
func (c *CreditPoint) Turn() (qp uint32, at unit.Time, ok bool) {
	if t := c.of.turn(); t != nil {
		return t.qp, c.of.at, true
	}
	return 0, 0, false
}

// Ended takes the flow out of the turns.
func (c *CreditPoint) Ended(unit.Time) { c.leave() }

// fabricCredit lowers the rate of credit where the fabric has a lower rate than endpoints. After an
// interval, with shares of the packets that came:
//
//	g = (1 - marks-gain) g + marks-gain marked
//	trimmed before the last hop:  rate = rate - trimmed
//	g above target-marks:         rate = rate (1 - (g - target-marks) marks-decrease)
//	neither:                      rate = rate + credit-increase, doubled n times where none is marked
//
// where n counts the intervals without a decrease. The rate is a share of that of credit.
type fabricCredit struct {
	rate, g  float64
	interval float64 // in picoseconds, 3/4 to 5/4 of it by chance
	due      unit.Time
	raised   int // n
	random   *unit.Random

	came, marked, trimmed, trimmedHere int
}

// settle ends the intervals that are over.
func (f *fabricCredit) settle(now unit.Time, p *CreditParams) {
	if p.Oversubscription == 0 {
		return
	}
	for f.due <= now {
		if f.due > 0 {
			f.adjust(p)
		}
		if f.rate == 1 && f.came == 0 && f.g < 1e-9 {
			f.due = now // nothing changes until a packet comes
		}
		f.due = f.due.Add(unit.Duration(0.75*f.interval) + f.random.Span(unit.Duration(f.interval/2)))
	}
}

func (f *fabricCredit) adjust(p *CreditParams) {
	share, lower := 0.0, false
	if whole := f.came - f.trimmed - f.trimmedHere; whole > 0 {
		share = float64(f.marked) / float64(whole)
	}
	if f.trimmed > 0 {
		f.rate -= float64(f.trimmed) / float64(f.came)
		lower = true
	}
	f.g = float64(f.g*(1-p.MarksGain)) + float64(p.MarksGain*share)
	if f.g > p.TargetMarks && p.MarksDecrease > 0 {
		f.rate *= 1 - float64((f.g-p.TargetMarks)*p.MarksDecrease)
		lower = true
	}
	if lower {
		f.raised = 0
	} else {
		by := p.CreditIncrease
		if f.marked == 0 {
			by = math.Ldexp(by, f.raised)
		}
		f.rate += by
		f.raised = min(f.raised+1, 64)
	}
	f.rate = min(max(f.rate, 0.9/p.Oversubscription, 0.01), 1)
	f.came, f.marked, f.trimmed, f.trimmedHere = 0, 0, 0, 0
}
