package rp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// QCNParams are the parameters of the reaction point of QCN. "The talk" is "QCN: Quantized
// Congestion Notification" by Balaji Prabhakar, Stanford.
type QCNParams struct {
	// Source of the rules. talk: hyper-active increase counts events since it began instead of
	// cycles, and requires five byte-counter cycles since the last notification; only the first
	// byte-counter cycle reduces the target rate.
	Version string `key:"version" def:"standard" words:"standard|talk" from:"IEEE 802.1Qau|the talk"`
	// Timer cycle in fast recovery. none: basic QCN, with a byte counter only.
	// Source: rpgTimeReset
	TimeReset unit.Duration `key:"timer" by:"version=15ms|10ms" low:"above 0s" none:"none" search:"4"`
	// Byte-counter cycle in fast recovery.
	// Source: rpgByteReset
	ByteReset unit.Size `key:"byte-reset" def:"150KB" low:"1B" search:"4"`
	// Fast recovery cycles of byte counter and timer; later cycles are half as long.
	// Source: rpgThreshold
	Threshold int `key:"threshold" def:"5" low:"1" high:"1048576"`
	// Target rate increase per active-increase cycle.
	// Source: rpgAiRate
	ActiveIncrease unit.Rate `key:"active-increase" def:"5Mb/s" grows:"rate" search:"4"`
	// Increase per hyper-active cycle, times their number.
	// Source: rpgHaiRate
	HyperIncrease unit.Rate `key:"hyper-increase" def:"50Mb/s" grows:"rate" search:"4"`
	// A notification reduces the rate by Fb/2^gd, with Fb from 1 to 63.
	// Source: rpgGd
	Gd int `key:"gd" def:"7" low:"0" high:"30" search:"5..9"`
	// Percentage of the rate that a notification leaves at least.
	// Source: rpgMinDecFac
	MinDecrease int `key:"min-decrease" def:"50" low:"0" high:"100"`
	// Minimum rate, at most the link rate.
	// Source: rpgMinRate
	MinRate unit.Rate `key:"min-rate" def:"5Mb/s"`
	// Random variation of cycles, in percent.
	// Source: IEEE 802.1Qau; the talk
	Jitter int `key:"jitter" by:"version=15|0" low:"0" high:"99" search:"no"`
	// One rate limiter for all notified flows of the endpoint with this option.
	// Source: the talk
	Shared bool `key:"shared" def:"false"`
	// Frames carry a CN-TAG that names their flow and returns in notifications.
	CNTag bool `key:"cn-tag" def:"false"`
}

// Talk is the version of the talk. Event number i of
// hyper-active increase raises the target by i x HyperIncrease; the standard takes the
// smaller number of cycles by which byte counter and timer are past fast recovery. The
// target is reduced in the first cycle of the byte counter only; the standard does so in
// the cycle of the timer too. Hyper-active increase wants Threshold x ByteReset to have been sent
// since the last notification ("at least 500 pkts have been transmitted since last ding");
// with the standard it may be up to a cycle less, since a notification in the first cycle
// of the byte counter lets that continue.
const Talk = "talk"

// Traits puts flows that share under one reaction point, and tags data frames.
func (p QCNParams) Traits() Traits {
	t := Traits{Frame: func(f *wire.Frame) { f.Tagged = f.Tagged || p.CNTag }}
	if p.Shared {
		t.By = "shared"
	}
	return t
}

// CheckSite refuses a lowest rate above the rate of the link.
func (p QCNParams) CheckSite(s Site) (string, error) {
	if p.MinRate > s.Line {
		return "min-rate", fmt.Errorf("the lowest rate, %v, is above the highest, %v", p.MinRate, s.Line)
	}
	return "", nil
}

func qcnAlgorithm() Algorithm {
	named := []string{"octets=14"} // so that notifications name their flow
	trials := []Trial{{Name: "with timer", Marking: named},
		{Name: "without timer", Control: []string{"timer=none"}, Marking: named}}
	return row(Algorithm{Name: "qcn", Feedback: Notifications, Doc: "is the algorithm of IEEE 802.1Qau, on Ethernet; defaults named rpg... are from its MIB, IEEE8021-CN-MIB", Trials: trials},
		func(p QCNParams, s Site) Reaction { return newQCN(p, s).Reaction() })
}

// QCN is the reaction point of IEEE 802.1Qau. At its centre are two rates: the
// current one, at which the limiter lets frames go, and the target, the one that it
// wants back. A notification makes the current rate the target and lowers it. A
// byte counter and a timer then run in cycles; at the end of each the current rate
// goes half the way to the target, and in time the target itself rises:
//
//	fast recovery           the first Threshold cycles    the target stays
//	active increase         one of the two is past them   the target rises by ActiveIncrease
//	hyper-active increase   both are                      by multiples of HyperIncrease
//
// It counts bytes, not ACKs: Ethernet has none. One QCN may govern several flows of
// an endpoint, which then share its rate.
type QCN struct {
	c         QCNParams
	site      Site
	active    bool
	current   unit.Rate
	target    unit.Rate
	bytes     unit.Size // until the byte counter ends its cycle; below zero it has
	byteStage int       // cycles that the byte counter has ended since the last notification
	timeStage int       // and the timer
	expires   unit.Time // when the timer ends its cycle
	hyper     int       // events of hyper-active increase so far
	since     unit.Size // sent since the last notification
}

// NewQCN returns a reaction point that is not limited: it begins to be with the
// first notification.
func NewQCN(c QCNParams, s Site) (*QCN, error) { return checked(c, s, newQCN) }

func newQCN(c QCNParams, s Site) *QCN {
	return &QCN{c: c, site: s, current: s.Line, target: s.Line, expires: unit.Never}
}

// Reaction returns the reaction point with what it does in addition to a Controller.
func (q *QCN) Reaction() Reaction {
	return Reaction{Controller: q, Target: q.Target, Active: q.Active}
}

// Rate returns the current rate.
func (q *QCN) Rate() unit.Rate { return q.current }

func (q *QCN) Target() unit.Rate { return q.target }

// Active reports whether the flows are limited.
func (q *QCN) Active() bool { return q.active }

// Deadline returns when the timer ends its cycle.
func (q *QCN) Deadline() unit.Time { return q.expires }

// Feedback takes in a notification; an Fb of 0 has no effect.
func (q *QCN) Feedback(now unit.Time, f wire.Frame) {
	if f.Kind != wire.Notification || f.Sampled().Fb == 0 {
		return
	}
	if !q.active {
		q.active = true
		q.current, q.target = q.site.Line, q.site.Line
		q.byteStage = 1 // so that the target is set below
	}
	// Extra fast recovery: while the byte counter is in its first cycle the rate has
	// not recovered, and the target should be another.
	if q.byteStage != 0 {
		q.target = q.current
		q.bytes = q.c.ByteReset
	}
	q.byteStage, q.timeStage, q.hyper, q.since = 0, 0, 0, 0
	least := scale(q.current, int64(q.c.MinDecrease), 100)
	lowered := q.current - scale(q.current, int64(f.Sampled().Fb), 1<<q.c.Gd)
	q.current = max(lowered, least, q.c.MinRate)
	q.setTimer(now)
}

// Sent counts the bytes that leave.
func (q *QCN) Sent(_ unit.Time, n unit.Size) {
	if !q.active {
		return
	}
	q.since += n
	q.bytes -= n
	if q.bytes >= 0 {
		return
	}
	q.byteStage++
	cycle := q.c.ByteReset
	if q.byteStage >= q.c.Threshold {
		cycle /= 2
	}
	q.bytes = unit.Size(q.jitter(int64(cycle)))
	q.increase(q.byteStage == 1)
}

// Advance ends the cycle of the timer, if it is time.
func (q *QCN) Advance(now unit.Time) {
	if !q.active || now < q.expires {
		return
	}
	q.timeStage++
	q.setTimer(q.expires) // from when it was due: a late call moves nothing
	q.increase(q.byteStage == 0)
}

// setTimer begins a cycle of the timer.
func (q *QCN) setTimer(now unit.Time) {
	if q.c.TimeReset == 0 {
		return
	}
	cycle := q.c.TimeReset
	if q.timeStage >= q.c.Threshold {
		cycle /= 2
	}
	q.expires = now.Add(unit.Duration(q.jitter(int64(cycle))))
}

// jitter varies the length of a cycle evenly.
func (q *QCN) jitter(cycle int64) int64 {
	if q.c.Jitter == 0 {
		return cycle
	}
	span := cycle / 100 * int64(q.c.Jitter)
	return max(1, cycle-span+int64(q.site.Random.Below(uint64(2*span)+1)))
}

// increase raises the rate at the end of a cycle, which lies in the first one of the byte
// counter or does not.
func (q *QCN) increase(first bool) {
	bytes, timer, threshold := q.byteStage, q.timeStage, q.c.Threshold
	var up unit.Rate
	switch {
	case bytes > threshold && timer > threshold &&
		(q.c.Version != Talk || q.since >= unit.Size(threshold)*q.c.ByteReset):
		q.hyper++
		n := min(bytes, timer) - threshold
		if q.c.Version == Talk {
			n = q.hyper
		}
		up = q.c.HyperIncrease * unit.Rate(n)
	case bytes > threshold || timer > threshold:
		up = q.c.ActiveIncrease
	}
	// Target rate reduction: in the first cycle a target far above the rate is one
	// that the network has not for this source.
	if q.c.Version != Talk {
		first = bytes == 1 || timer == 1
	}
	if first && q.target > 10*q.current {
		q.target /= 8
	} else {
		q.target = min(q.target+up, q.site.Line)
	}
	q.current = min((q.current+q.target)/2, q.site.Line)
	// Halves never quite add up; the last bit per second does not count.
	if q.target == q.site.Line && q.current >= q.site.Line-1 {
		q.current, q.active, q.expires = q.site.Line, false, unit.Never
	}
}

// scale returns r * num / den, rounded down.
func scale(r unit.Rate, num, den int64) unit.Rate {
	return unit.Rate(unit.Duration(r).Scale(num, den))
}
