package rp

import (
	"fmt"
	"math"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Trip are the parameters that NSCC and RCCC have in common: the round trip without queues, and how
// many bytes may be on their way.
type Trip struct {
	// Round trip of a packet and its ACK without queues. path: the longest in the fabric, or 12 µs
	// where there is none. A flow of NSCC that measures a shorter one takes that.
	// Source: uet-htsim, main_uec.cpp: twice the latency of the longest path, and the packet and
	// its ACK on each of its links
	BaseRTT unit.Duration `key:"base-rtt" def:"path" none:"path" low:"1ns" high:"1s" search:"no"`
	// Maximum window, and credit that a source may keep, as a multiple of what the link carries in
	// base-rtt.
	// Source: only the model's default: uet-htsim, uec.cpp
	MostWindow float64 `key:"max-window" def:"1.5" low:"above 0" high:"1000" search:"2"`
}

// base returns the round trip without queues that holds at a site.
func (t Trip) base(s Site) unit.Duration {
	if t.BaseRTT > 0 {
		return t.BaseRTT
	}
	if s.Trip > 0 {
		return s.Trip
	}
	return referenceTrip
}

// NeedsTrip reports whether base-rtt is that of the fabric.
func (t Trip) NeedsTrip() bool { return t.BaseRTT == 0 }

// most returns the largest window at a site, in bytes.
func (t Trip) most(s Site) int64 { return int64(t.MostWindow * float64(carried(s.Line, t.base(s)))) }

// carried returns how many bytes a link carries in a time.
func carried(line unit.Rate, d unit.Duration) int64 { return int64(d.Seconds() * float64(line/8)) }

// CheckSite refuses windows in which no packet fits. Where the round trip of the fabric is not
// known yet, it is no shorter than the time of a packet on the link.
func (t Trip) CheckSite(s Site) (string, error) {
	base, key := t.base(s), "max-window"
	if t.BaseRTT > 0 {
		key = "base-rtt"
	} else if s.Trip == 0 {
		base = max(base, s.Line.Serialise(s.Length))
	}
	switch most := t.MostWindow * float64(s.Line) / 8 * base.Seconds(); {
	case most < float64(s.Length):
		return key, fmt.Errorf("the largest window is %.0f bytes, %v times %v in %v, and a packet has %v on the link: no packet would fit",
			most, t.MostWindow, s.Line, base, s.Length)
	case most > math.MaxInt32:
		return key, fmt.Errorf("the largest window is %.0f bytes, %v times %v in %v: a window is less than 2GiB", most, t.MostWindow, s.Line, base)
	}
	return "", nil
}

// Traits warns of a base-rtt that is far from that of the fabric.
func (t Trip) Traits() Traits {
	return Traits{Warns: func(s Site) []Doubt {
		if t.BaseRTT > 0 && s.Trip > 0 && (t.BaseRTT < s.Trip/2 || t.BaseRTT > 2*s.Trip) {
			return []Doubt{{"base-rtt", fmt.Sprintf("the longest round trip without queues is %v", s.Trip)}}
		}
		return nil
	}}
}

// NSCCParams are the parameters of NSCC, the congestion control at the sender of Ultra Ethernet.
// The text of the specification (Ultra Ethernet 1.0, 3.6) is not at hand: rules and values are
// those of its reference model, uet-htsim (sim/uec.cpp), and a value that only the model has says
// so. No rule or value was taken from the paper of the specification's authors (T. Hoefler et al.,
// "Ultra Ethernet's Design Principles and Architectural Innovations", 2025), or compared with it.
//
// Gains are for a link of 100 Gb/s and a round trip of 12 µs: they are multiplied by the bytes that
// the link carries in base-rtt, over those of reference-bdp.
type NSCCParams struct {
	Trip
	WindowParams
}

// WindowParams are the parameters of NSCC beside those of Trip.
type WindowParams struct {
	// Queueing delay that the flow aims at. share: target-share of base-rtt.
	Target unit.Duration `key:"target-delay" def:"share" none:"share" low:"1ns" high:"1s"`
	// Target delay as a share of base-rtt: 0.75 where queues trim, 1 where they drop.
	// Source: only the model's default: uet-htsim, uec.cpp
	TargetShare float64 `key:"target-share" def:"0.75" low:"above 0" high:"100" search:"2"`
	// Initial window. max: the maximum.
	// Source: uet-htsim, uec.cpp
	StartWindow unit.Size `key:"initial-window" def:"max" none:"max" low:"1B" search:"no"`
	// The bytes that a link of 100 Gb/s carries in 12 µs: gains are multiplied by those of this
	// fabric over these.
	// Source: uet-htsim, uec.cpp
	ReferenceBDP unit.Size `key:"reference-bdp" def:"150000B" low:"1B" search:"no"`
	// alpha, in packets: increase per adjustment at no delay, weighted by how far the delay is
	// below the target.
	// Source: only the model's default: uet-htsim, uec.cpp
	Proportional float64 `key:"proportional-increase" def:"4" low:"0" high:"1e6" search:"4"`
	// In packets: increase per window of acknowledged bytes without a mark, whose delay is at the
	// target or above.
	// Source: only the model's default: uet-htsim, uec.cpp
	Fair float64 `key:"fair-increase" def:"5" low:"0" high:"1e6" search:"4"`
	// eta, in packets: increase per adjust-period whatever the feedback.
	// Source: only the model's default: uet-htsim, uec.cpp
	Eta float64 `key:"eta" def:"0.15" low:"0" high:"1e6" search:"4"`
	// Share of acknowledged bytes that the window grows by in fast increase.
	// Source: only the model's default: uet-htsim, uec.cpp
	Fast float64 `key:"fast-increase" def:"0.25" low:"0" high:"1000" search:"4"`
	// Fast increase begins when a whole window was acknowledged with delays below this.
	// Source: only the model's default: uet-htsim, uec.cpp
	FastDelay unit.Duration `key:"fast-delay" def:"1us" low:"0ns" high:"1s"`
	// gamma: share of the excess of the average delay over the target by which the window shrinks,
	// once per round trip.
	// Source: uet-htsim, uec.cpp
	Gamma float64 `key:"gamma" def:"0.8" low:"0" high:"1" search:"2"`
	// Largest share of one decrease.
	// Source: only the model's default: uet-htsim, uec.cpp
	MostDecrease float64 `key:"max-decrease" def:"0.5" low:"0" high:"0.999999" search:"2"`
	// Weight of one delay in the average.
	// Source: only the model's default: uet-htsim, uec.cpp
	DelayGain float64 `key:"delay-gain" def:"0.0125" low:"above 0" high:"1" search:"4"`
	// An unmarked ACK with a delay above the target counts in the average as this share of
	// base-rtt.
	// Source: only the model's default: uet-htsim, uec.cpp
	UnmarkedShare float64 `key:"unmarked-share" def:"0.25" low:"0" high:"100" search:"no"`
	// Increases are applied after this time. rtt: base-rtt.
	// Source: uet-htsim, uec.cpp; 12 µs in the reference network
	AdjustPeriod unit.Duration `key:"adjust-period" def:"rtt" none:"rtt" low:"1ns" high:"1s" search:"no"`
	// In packets: increases are applied after this many acknowledged bytes.
	// Source: only the model's default: uet-htsim, uec.cpp
	AdjustPackets float64 `key:"adjust-packets" def:"8" low:"0" high:"1e6" search:"no"`
	// Set the window to what was delivered in the last round trip, if that is little: a 2^gate-th
	// of the maximum.
	QuickAdapt bool `key:"quick-adapt" def:"true"`
	// See quick-adapt.
	// Source: only the model's default: uet-htsim, main_uec.cpp
	Gate int `key:"quick-adapt-gate" def:"3" low:"0" high:"30" counts:"quick-adapt=true" search:"no"`
	// As a multiple of the target: a delay above it has the window adapt without a loss.
	// Source: only the model's default: uet-htsim, uec.cpp
	AdaptDelay float64 `key:"quick-adapt-delay" def:"4" low:"0" high:"1e6" counts:"quick-adapt=true" search:"no"`
	// Take the round trip of trimmed packets, which are short, as a measurement of base-rtt.
	// Source: only the model's default: uet-htsim, uec.cpp
	LearnFromNACKs bool `key:"base-rtt-from-nacks" def:"true"`
}

// CheckSite refuses windows in which no packet fits.
func (p NSCCParams) CheckSite(s Site) (string, error) {
	if p.StartWindow > 0 && p.StartWindow < s.Length {
		return "initial-window", fmt.Errorf("initial-window is %v, and a packet has %v on the link: no packet would fit", p.StartWindow, s.Length)
	}
	return p.Trip.CheckSite(s)
}

// What Ultra Ethernet's algorithms need of switches and flows as in uet-htsim (main_uec.cpp): marks
// by the bytes that the fabric carries in a round trip; packets sprayed as by default there; where
// queues drop, trimming, with ACKs and NACKs in the class of trimmed packets; and a timer by the
// longest queue, so that a packet that waits is not sent again. A window that shrinks below what is
// in flight may leave the destination with less than it acknowledges unasked: the source then asks
// by a probe (uec.cpp: probe_first_trial_time). Those without marks of their own need them for the
// choice of paths.
const ultraSet = "uet-htsim"

var (
	ultraFabric = []string{"flow.transport.rto=" + Timer, "flow.transport.probe-after=" + ThreeTrips}

	ultraPaths = []string{"flow.transport.spray=mixed", "switch.marking.scheme=ecn"}
	ultraDrops = []string{"switch.trim=64B", "flow.transport.ack-dscp=48"}
)

func nsccAlgorithm() Algorithm {
	return row(Algorithm{Name: "nscc", Feedback: Delays,
		Trials: []Trial{{Point: "ecn", Marks: ultraSet, Flow: []string{"transport.kind=uet"}, Fabric: ultraFabric, Paths: ultraPaths[:1], Drops: ultraDrops}},
		Doc:    "sets a window by marks and round trips, in four cases, and by trimmed packets: Ultra Ethernet's control at the sender"},
		func(p NSCCParams, s Site) Reaction { return newNSCC(p, s).Reaction() })
}

// NSCC is the reaction point of a flow. It has two signals for each ACK: the mark of its packet,
// and the delay, which is the round trip less the shortest that is known. In four cases it
//
//	unmarked, below the target: adds alpha n (target - delay) to the increase (proportional), or,
//	    when a window was acknowledged without delay, n fast-increase to the window at once (fast)
//	unmarked, else:             adds fair-increase n to the increase (fair)
//	marked, above the average:  w = w max(1 - gamma (average - target)/average, 1 - max-decrease),
//	    once in a round trip
//	marked, below the target:   does nothing: the next packets take other paths
//
// where n is the bytes that the ACK acknowledges. The increase over w is added to w after so many
// bytes, or a period, and eta with each period. After a trimmed packet the window is less by the
// packet; and once in a round trip, after a loss or a very long delay, it becomes what the round
// trip has delivered, if that is little (quick adapt). Marks of what was in flight then are
// ignored.
//
// Windows and times are whole bytes and picoseconds, rounded down after each operation as in the
// model, so that windows equal its windows to the byte (TestNSCCIsThatOfTheModel).
type NSCC struct {
	c        NSCCParams
	line     unit.Rate
	credited bool // the destination gives credit: what is trimmed at the last hop is its part

	network   unit.Duration // the round trip without queues of the fabric
	target    unit.Duration
	period    unit.Duration
	adapts    float64 // a delay above it, in picoseconds, has the window adapt
	least     int64   // windows, in bytes
	enough    int64   // increases are applied after more bytes than these
	alpha     float64 // in bytes per picosecond
	fair, eta float64 // in bytes
	share     float64 // of fast increase
	base      unit.Duration
	most      int64
	window    int64
	average   unit.Duration // of the delay
	increase  int64         // that is not yet applied, times the window
	since     int64         // bytes acknowledged since it was applied
	calm      int64         // bytes acknowledged with delays below fast-delay
	fast      bool          // in fast increase
	delivered int64         // bytes acknowledged in the round trip of quick adapt
	ends      unit.Time     // when that ends; 0: none has begun
	lost      bool          // a packet was trimmed since the window adapted
	ignores   int64         // so many bytes, since the window adapted, are not feedback
	ignored   int64
	adjusted  unit.Time // when eta was added last
	decreased unit.Time
}

func newNSCC(p NSCCParams, s Site) *NSCC {
	n := &NSCC{c: p, line: s.Line, network: p.base(s), least: int64(s.Length)}
	packet := float64(s.Payload)
	if s.Payload == 0 {
		packet = float64(s.Length)
	}
	if n.target = p.Target; n.target == 0 {
		n.target = max(unit.Duration(float64(n.network)*p.TargetShare), 1)
	}
	if n.period = p.AdjustPeriod; n.period == 0 {
		n.period = n.network
	}
	n.base = n.network
	bdp := carried(s.Line, n.base)
	scale := float64(bdp) / float64(p.ReferenceBDP)
	n.alpha = p.Proportional * packet * scale * (float64(n.target) / float64(referenceTrip)) / float64(n.target)
	n.fair, n.eta, n.share = p.Fair*packet*scale, p.Eta*packet*scale, p.Fast*scale
	n.enough = int64(p.AdjustPackets * float64(s.Length))
	n.adapts = p.AdaptDelay * float64(n.target)
	n.most = p.most(s)
	if n.window = n.most; p.StartWindow > 0 {
		n.window = int64(p.StartWindow)
	}
	return n
}

// referenceTrip is the round trip of the network for which gains are given.
const referenceTrip = 12 * unit.Microsecond

// Reaction returns the reaction point with what it does in addition to a Controller.
func (n *NSCC) Reaction() Reaction {
	return Reaction{Controller: n, Acknowledged: n, Trimmed: n.Trimmed, Expired: n.Expired}
}

// Window returns the window.
func (n *NSCC) Window() unit.Size { return unit.Size(n.window) }

// Rate returns the rate of the link: only the window limits.
func (n *NSCC) Rate() unit.Rate { return n.line }

// Sent does nothing.
func (*NSCC) Sent(unit.Time, unit.Size) {}

// Feedback does nothing: ACKs come by Acked.
func (*NSCC) Feedback(unit.Time, wire.Frame) {}

// Advance does nothing: the window changes with feedback only.
func (*NSCC) Advance(unit.Time) {}

// Deadline returns that nothing is due.
func (*NSCC) Deadline() unit.Time { return unit.Never }

// Lost takes a packet off the window, on RoCEv2, where it is not known how much was lost.
func (n *NSCC) Lost(now unit.Time) { n.Expired(now, unit.Size(n.least)) }

// Acked takes in the mark and the round trip of an ACK.
func (n *NSCC) Acked(now unit.Time, a Ack) {
	bytes, marked := int64(a.Bytes), a.Frame.BECN
	n.delivered += bytes
	n.since += bytes
	n.ignored += bytes
	delay := n.average
	if a.RTT > 0 {
		n.learn(a.RTT)
		delay = a.RTT - n.base
		n.measure(delay, marked)
	}
	if n.adapt(now, marked, false, delay, int64(a.Flight)) {
		return
	}
	switch {
	case !marked && delay >= n.target:
		n.raise(n.fair * float64(bytes))
	case !marked:
		n.proportional(bytes, delay)
	case delay >= n.target:
		n.fall(now)
	}
	n.bound()
	if n.since > n.enough || now.Sub(n.adjusted) > n.period {
		n.adjust(now)
	}
	n.bound()
}

// learn takes a round trip as the one without queues, if it is the shortest so far.
func (n *NSCC) learn(trip unit.Duration) {
	if trip < n.base {
		n.base = trip
		n.most = int64(n.c.MostWindow * float64(int64(float64(trip)/float64(unit.Microsecond)*float64(n.line)/8e6)))
	}
}

// measure takes a delay into the average.
func (n *NSCC) measure(delay unit.Duration, marked bool) {
	sample, gain := float64(n.c.DelayGain*float64(delay)), n.c.DelayGain
	if !marked && delay > n.target {
		sample = float64(gain*float64(n.base)) * n.c.UnmarkedShare
	}
	n.average = unit.Duration(float64(sample) + float64((1-gain)*float64(n.average)))
}

// raise adds to the increase.
func (n *NSCC) raise(by float64) { n.increase = int64(float64(n.increase) + float64(by)) }

// proportional raises the window by how far a delay is below the target, or at once if there has
// been none.
func (n *NSCC) proportional(bytes int64, delay unit.Duration) {
	if delay < n.c.FastDelay {
		n.calm += bytes
		if n.calm > n.window || n.fast {
			n.window = int64(float64(n.window) + float64(float64(bytes)*n.share))
			n.fast = true
			return
		}
	} else {
		n.calm = 0
	}
	n.fast = false
	n.raise(float64(n.alpha*float64(bytes)) * float64(n.target-delay))
}

// fall lowers the window by how far the average is above the target, once in a round trip.
func (n *NSCC) fall(now unit.Time) {
	n.fast, n.calm = false, 0
	if n.average <= n.target || now.Sub(n.decreased) <= n.base {
		return
	}
	excess := float64(n.c.Gamma*float64(n.average-n.target)) / float64(n.average)
	n.window = max(int64(float64(n.window)*max(1-excess, 1-n.c.MostDecrease)), n.least)
	n.decreased = now
}

// adjust applies the increase.
func (n *NSCC) adjust(now unit.Time) {
	n.window += n.increase / n.window
	if now.Sub(n.adjusted) >= n.period {
		n.window = int64(float64(n.window) + float64(n.eta))
		n.adjusted = now
	}
	n.increase, n.since = 0, 0
}

// adapt sets the window to what was delivered in a round trip, if that is over, something is wrong
// and it is little. It reports whether it did, or the feedback is about packets from before.
func (n *NSCC) adapt(now unit.Time, marked, loss bool, delay unit.Duration, underway int64) (done bool) {
	if !n.c.QuickAdapt {
		return false
	}
	if n.ignored < n.ignores && marked {
		done = true
	} else if now > n.ends {
		if n.ends != 0 && (n.lost || loss || float64(delay) > n.adapts) && n.delivered < n.most>>n.c.Gate {
			n.window = max(n.delivered, n.least)
			n.ignores, n.ignored, n.lost, done = underway, 0, false, true
		}
		n.delivered, n.ends = 0, now.Add(n.base+n.target)
	}
	if done {
		n.increase, n.since = 0, 0
	}
	return done
}

// bound keeps the window in its limits.
func (n *NSCC) bound() { n.window = max(min(n.window, n.most), n.least) }

// Trimmed takes in that a packet was trimmed.
func (n *NSCC) Trimmed(now unit.Time, t Trim) {
	if n.c.LearnFromNACKs && t.RTT > 0 {
		n.learn(t.RTT)
	}
	n.ignored += int64(t.Bytes)
	n.measure(n.network, true)
	n.lost = true
	if n.adapt(now, true, true, 0, int64(t.Flight)) || n.credited && t.LastHop {
		return
	}
	n.window -= int64(t.Bytes)
	n.bound()
}

// Expired takes in that a packet of n bytes was not acknowledged in time.
func (n *NSCC) Expired(_ unit.Time, bytes unit.Size) {
	n.window = max(n.window-int64(bytes), n.least)
}
