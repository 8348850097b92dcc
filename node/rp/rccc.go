package rp

import (
	"math"

	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// CreditParams are the parameters of RCCC, the congestion control at the receiver of Ultra
// Ethernet, beside those of Trip. The text of the specification (Ultra Ethernet 1.0, 3.6) is not at
// hand: rules and values are those of its reference model, uet-htsim (sim/uec.cpp,
// sim/oversubscribed_cc.cpp).
type CreditParams struct {
	// Credit in one frame.
	// Source: uet-htsim, uec.cpp: four packets, which it says is the default of the specification
	Grant unit.Size `key:"grant" def:"16384B" low:"256B" search:"no"`
	// Rate of credit as a share of the link rate.
	// Source: only the model's default: uet-htsim, main_uec.cpp
	CreditShare float64 `key:"credit-share" def:"0.99" low:"above 0" high:"1" search:"0.9..1"`
	// The destination waits behind a frame without credit as long as behind one with this much.
	// Source: only the model's default: uet-htsim, uec.cpp
	LeastGap unit.Size `key:"least-gap" def:"1024B" low:"256B" search:"no"`
	// How many times lower the rate of the fabric is than that of the endpoints. The destination
	// lowers its credit when packets are marked, or trimmed before the last hop, to 0.9 over this
	// at least. none: it gives credit at one rate.
	// Source: uet-htsim, main_uec.cpp: from the topology
	Oversubscription float64 `key:"oversubscription" def:"none" none:"none" low:"1" high:"1e6" search:"no"`
	// Share of marked packets, averaged, above which credit becomes less.
	// Source: only the model's default: uet-htsim, oversubscribed_cc.cpp
	TargetMarks float64 `key:"target-marks" def:"0.3" low:"0" high:"1" counts:"oversubscription!=none" search:"2"`
	// Weight of the last share of marks in the average.
	// Source: only the model's default: uet-htsim, oversubscribed_cc.cpp
	MarksGain float64 `key:"marks-gain" def:"0.5" low:"above 0" high:"1" counts:"oversubscription!=none" search:"2"`
	// Share of the excess of marks over target-marks by which credit becomes less.
	// Source: only the model's default: uet-htsim, oversubscribed_cc.cpp
	MarksDecrease float64 `key:"marks-decrease" def:"0.5" low:"0" high:"1" counts:"oversubscription!=none" search:"2"`
	// Increase of credit, as a share of the link rate, after an interval of about 1.5 base-rtt;
	// doubled with each further one without a mark.
	// Source: only the model's default: uet-htsim, oversubscribed_cc.cpp
	CreditIncrease float64 `key:"credit-increase" def:"0.01" low:"0" high:"1" counts:"oversubscription!=none" search:"4"`
}

// RCCCParams are the parameters of RCCC.
type RCCCParams struct {
	Trip
	CreditParams
}

func rcccAlgorithm() Algorithm {
	a := row(Algorithm{Name: "rccc", Feedback: Delays, Ultra: true,
		Trials: []Trial{{Point: NoPoint, Marks: ultraSet, Flow: []string{"transport.kind=uet"}, Fabric: ultraFabric, Paths: ultraPaths, Drops: ultraDrops,
			Narrow: []string{"flow.control.oversubscription=" + Oversubscription, "switch.marking.scheme=ecn"}}},
		Doc: "sends by credit that the destination paces, in turns among its flows: Ultra Ethernet's control at the receiver"},
		func(p RCCCParams, s Site) Reaction { return newRCCC(p, s).Reaction() })
	a.Answer = func(params any, s Site) (Answerer, error) {
		p := params.(RCCCParams)
		return newCreditPoint(p.Trip, p.CreditParams, s), nil
	}
	return a
}

// NSCCRCCCParams are the parameters of NSCC and RCCC together.
type NSCCRCCCParams struct {
	Trip
	WindowParams
	CreditParams
}

func nsccRCCCAlgorithm() Algorithm {
	a := row(Algorithm{Name: "nscc-rccc", Feedback: Delays, Ultra: true,
		Trials: []Trial{{Point: "ecn", Marks: ultraSet, Flow: []string{"transport.kind=uet"}, Fabric: ultraFabric, Paths: ultraPaths[:1], Drops: ultraDrops}},
		Doc:    "has the window of nscc and the credit of rccc"},
		func(p NSCCRCCCParams, s Site) Reaction { return newNSCCRCCC(p, s).Reaction() })
	a.Answer = func(params any, s Site) (Answerer, error) {
		p := params.(NSCCRCCCParams)
		return newCreditPoint(p.Trip, p.CreditParams, s), nil
	}
	return a
}

// CheckSite refuses windows in which no packet fits.
func (p NSCCRCCCParams) CheckSite(s Site) (string, error) {
	return NSCCParams{p.Trip, p.WindowParams}.CheckSite(s)
}

// NSCCRCCC is the reaction point of a flow with a window and credit: a packet leaves if both permit
// it. It asks for credit for no more than the window and a packet, and a packet that was trimmed at
// the last hop does not lower the window: the destination then gives less credit.
type NSCCRCCC struct {
	*NSCC
	credit
}

func newNSCCRCCC(p NSCCRCCCParams, s Site) *NSCCRCCC {
	n := &NSCCRCCC{newNSCC(NSCCParams{p.Trip, p.WindowParams}, s), newCredit(p.Trip, s)}
	n.NSCC.credited = true
	return n
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (n *NSCCRCCC) Reaction() Reaction {
	return Reaction{Controller: n, Acknowledged: n,
		Demand: n.Demand, Allowance: n.Allowance, Trimmed: n.Trimmed, Expired: n.Expired,
		Tag:     func(f wire.Frame) wire.Frame { return n.tag(f, n.window) },
		Send:    func(unit.Time) (wire.Frame, bool) { return n.request(n.window) },
		Refuses: func(_ unit.Time, f wire.Frame) trace.Reason { return refusesCredit(&f) }}
}

// Feedback takes in credit.
func (n *NSCCRCCC) Feedback(_ unit.Time, f wire.Frame) { n.feedback(&f) }

// Sent spends credit.
func (n *NSCCRCCC) Sent(_ unit.Time, bytes unit.Size) { n.spend(bytes) }

// Demand takes in how much the flow has to send.
func (n *NSCCRCCC) Demand(now unit.Time, bytes unit.Size) { n.wants(now, int64(bytes), n.window) }

// Advance asks again for credit that has not come.
func (n *NSCCRCCC) Advance(now unit.Time) { n.retry(now) }

// Deadline returns when it asks again.
func (n *NSCCRCCC) Deadline() unit.Time { return n.due() }

// Allowance returns the credit that is left.
func (n *NSCCRCCC) Allowance() unit.Size { return allowance(n.left) }

// Acked takes in the mark and the round trip of an ACK.
func (n *NSCCRCCC) Acked(now unit.Time, a Ack) {
	n.heard()
	n.starve(now)
	n.NSCC.Acked(now, a)
}

// Trimmed takes in that a packet was trimmed.
func (n *NSCCRCCC) Trimmed(now unit.Time, t Trim) {
	n.heard()
	n.starve(now)
	n.NSCC.Trimmed(now, t)
}

// Expired takes in that packets were not acknowledged in time, and asks for credit if there is
// none.
func (n *NSCCRCCC) Expired(now unit.Time, bytes unit.Size) {
	n.expired(now)
	n.NSCC.Expired(now, bytes)
}

// Traits returns what asking for credit adds to packets, and the frames of credit.
func (p RCCCParams) Traits() Traits { return p.Trip.Traits().credited() }

// Traits returns those of RCCC.
func (p NSCCRCCCParams) Traits() Traits { return p.Trip.Traits().credited() }

// credited adds credit to traits.
func (t Traits) credited() Traits {
	t.Frame = func(f *wire.Frame) { f.UET().Flags |= wire.UETState }
	t.Sends = func(f *wire.Frame) (request, credit wire.Frame) {
		c := wire.Frame{Kind: wire.UETControl, Family: wire.UET, Lane: f.Lane}
		c.UET().Code = wire.UETCredit
		return c, c
	}
	return t
}

// credit is the credit of a flow at its source. Sums are in units of wire.CreditUnit.
type credit struct {
	most    int64 // credit that it may keep, in bytes
	packet  int64
	left    int64     // credit that is left, in bytes; below 0: the last packet was longer
	granted int64     // sum of all credit that has come
	demand  int64     // bytes to send
	early   bool      // nothing has come back: credit is that of the start
	asked   int64     // up to which sum its packets have asked for
	leaves  bool      // a packet leaves, which is to ask
	begged  unit.Time // when a request of its own left last
	begs    bool      // such a request is to leave
	waits   bool      // for credit, without which it sends nothing
	since   unit.Time // when it began to, or last asked meanwhile
	tries   int       // requests since then that were not answered
	trip    unit.Duration
}

func newCredit(p Trip, s Site) credit {
	most := p.most(s)
	return credit{most: most, packet: int64(s.Length), left: most, early: true, trip: p.base(s), begged: -1 << 62}
}

// heard ends the start: what is left of its credit is void.
func (c *credit) heard() {
	if c.early {
		c.early, c.left = false, min(c.left, 0)
	}
}

// grant takes in the sum of all credit.
func (c *credit) grant(sum int64) {
	c.heard()
	c.waits = false
	if sum > c.granted {
		c.left = min(c.left+(sum-c.granted)*int64(wire.CreditUnit), c.most)
		c.granted = sum
	}
}

// target returns up to which sum the source asks for credit. A window limits what it asks for, too;
// 0: there is none.
func (c *credit) target(window int64) int64 {
	n := c.demand
	if window > 0 {
		n = min(n, window+c.packet)
	}
	n = min(n, c.most) - c.left
	if c.early && n < c.packet && c.demand > 0 {
		n = c.packet
	}
	sum := c.granted + (n+int64(wire.CreditUnit)-1)>>creditShift
	return max(sum, 0)
}

// creditShift is the logarithm of wire.CreditUnit.
const creditShift = 8

// expired asks for credit by a frame of its own, once in a round trip, if there is none.
func (c *credit) expired(now unit.Time) {
	c.heard()
	if c.left <= 0 && now.Sub(c.begged) >= c.trip {
		c.begged, c.begs = now, true
	}
}

// spend takes the credit of a packet that leaves.
func (c *credit) spend(bytes unit.Size) {
	c.left -= int64(bytes)
	c.leaves = true
}

// wants takes in how much the flow has to send. If that is because a packet leaves, the packet asks
// for credit.
func (c *credit) wants(now unit.Time, bytes, window int64) {
	if c.demand = bytes; c.leaves {
		c.asked, c.leaves = max(c.asked, c.target(window)), false
		return
	}
	c.starve(now)
}

// starve asks for credit by a frame of its own, if there is something to send, no credit, and no
// packet has asked for more than has come. If one has, its answer may be lost, so the flow asks
// after the longest time. The reference model does neither: there a flow knows from the start how
// much it will send, and no link fails.
func (c *credit) starve(now unit.Time) {
	if c.demand > 0 && c.left <= 0 && !c.waits {
		c.waits, c.since, c.tries = true, now, mostTries
		if c.asked <= c.granted {
			c.begged, c.begs, c.tries = now, true, 0
		}
	}
}

// mostTries is how often the time after which a flow asks again is doubled, at most.
const mostTries = 10

// due returns when the flow asks again for credit that has not come: after a round trip, then after
// twice as long each time.
func (c *credit) due() unit.Time {
	if !c.waits {
		return unit.Never
	}
	return c.since.Add(c.trip << min(c.tries, mostTries))
}

// retry asks for credit again, if that is due.
func (c *credit) retry(now unit.Time) {
	if c.due() <= now {
		c.since, c.begged, c.begs, c.tries = now, now, true, c.tries+1
	}
}

// tag has a packet of the flow ask for credit.
func (c *credit) tag(f wire.Frame, window int64) wire.Frame {
	f.UET().Flags |= wire.UETState
	f.SetCredit(unit.Size(c.target(window) << creditShift))
	return f
}

// feedback takes in a frame of credit.
func (c *credit) feedback(f *wire.Frame) {
	if f.Kind == wire.UETControl && f.UET().Code == wire.UETCredit {
		c.grant(int64(f.CreditSince(unit.Size(c.granted<<creditShift))) >> creditShift)
	}
}

// request returns a request of its own, if one is to leave.
func (c *credit) request(window int64) (f wire.Frame, ok bool) {
	if !c.begs {
		return f, false
	}
	c.begs = false
	f = wire.Frame{Kind: wire.UETControl, Family: wire.UET}
	f.UET().Code = wire.UETCreditRequest
	f.SetCredit(unit.Size(c.target(window) << creditShift))
	return f, true
}

// refuses returns that a frame of UET is wanted at a source only if it gives credit.
func refusesCredit(f *wire.Frame) trace.Reason {
	if f.Kind == wire.UETControl && f.UET().Code == wire.UETCredit {
		return trace.NoReason
	}
	return trace.NotAwaited
}

// RCCC is the reaction point of a flow that sends by credit. It starts with credit for max-window,
// which is void as soon as anything comes back. Its packets say up to which sum the flow asks for
// credit: what it has to send, at most a window, less the credit that is left. If none of its
// packets has asked, or what they asked for does not come, it asks by frames of its own.
type RCCC struct {
	ackClocked
	credit
	line unit.Rate
}

func newRCCC(p RCCCParams, s Site) *RCCC { return &RCCC{credit: newCredit(p.Trip, s), line: s.Line} }

// Reaction returns the reaction point with what it does in addition to a Controller.
func (r *RCCC) Reaction() Reaction {
	return Reaction{Controller: r, Acknowledged: r,
		Demand: r.Demand, Allowance: r.Allowance, Trimmed: r.Trimmed, Expired: r.Expired,
		Tag:     func(f wire.Frame) wire.Frame { return r.tag(f, 0) },
		Send:    func(unit.Time) (wire.Frame, bool) { return r.request(0) },
		Refuses: func(_ unit.Time, f wire.Frame) trace.Reason { return refusesCredit(&f) }}
}

// Feedback takes in credit.
func (r *RCCC) Feedback(_ unit.Time, f wire.Frame) { r.feedback(&f) }

// Rate returns the rate of the link.
func (r *RCCC) Rate() unit.Rate { return r.line }

// Window returns that there is none.
func (*RCCC) Window() unit.Size { return 0 }

// Acked takes in that an ACK has come.
func (r *RCCC) Acked(now unit.Time, _ Ack) {
	r.heard()
	r.starve(now)
}

// Sent spends credit.
func (r *RCCC) Sent(_ unit.Time, n unit.Size) { r.spend(n) }

// Demand takes in how much the flow has to send.
func (r *RCCC) Demand(now unit.Time, n unit.Size) { r.wants(now, int64(n), 0) }

// Advance asks again for credit that has not come.
func (r *RCCC) Advance(now unit.Time) { r.retry(now) }

// Deadline returns when it asks again.
func (r *RCCC) Deadline() unit.Time { return r.due() }

// Allowance returns the credit that is left.
func (r *RCCC) Allowance() unit.Size { return allowance(r.left) }

// allowance returns credit as a size.
func allowance(left int64) unit.Size { return unit.Size(min(max(left, 0), math.MaxInt32)) }

// Trimmed takes in that a NACK has come.
func (r *RCCC) Trimmed(now unit.Time, _ Trim) {
	r.heard()
	r.starve(now)
}

// Expired asks for credit, if there is none.
func (r *RCCC) Expired(now unit.Time, _ unit.Size) { r.expired(now) }
