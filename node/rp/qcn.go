package rp

import (
	"fmt"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// QCNConfig holds the parameters of the reaction point of QCN. The names in
// brackets are those of the standard's management objects (IEEE 802.1Qau,
// IEEE8021-CN-MIB); "the talk" is "QCN: Quantized Congestion Notification" by
// Balaji Prabhakar, Stanford.
type QCNConfig struct {
	Line           unit.Rate     // C: the rate of the link; positive
	MinRate        unit.Rate     // [rpgMinRate] the lowest rate; 1 b/s to Line; 5 Mb/s
	ByteReset      unit.Size     // [rpgByteReset] a cycle of the byte counter in fast recovery; 150000
	TimeReset      unit.Duration // [rpgTimeReset] a cycle of the timer; 15 ms, the talk 10 ms; 0: basic QCN, which has no timer
	Threshold      int           // [rpgThreshold] cycles of fast recovery; 5
	ActiveIncrease unit.Rate     // [rpgAiRate] 5 Mb/s
	HyperIncrease  unit.Rate     // [rpgHaiRate] 50 Mb/s
	Gd             int           // [rpgGd] a notification takes Fb/2^Gd off the rate; 7
	MinDecrease    int           // [rpgMinDecFac] but leaves this percentage of it; 50
	Jitter         int           // cycles vary by so many percent up or down; 15, the talk has none

	// Talk counts hyper-active increase as the talk does: event number i since it began
	// raises the target by i x HyperIncrease. The standard takes the smaller number of
	// cycles by which byte counter and timer are past fast recovery.
	Talk bool
	// Random draws the jitter; it may be nil when Jitter is 0.
	Random *unit.Random
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
	c             QCNConfig
	active        bool
	current       unit.Rate
	target        unit.Rate
	bytes         unit.Size // until the byte counter ends its cycle; below zero it has
	byteStage     int       // cycles that the byte counter has ended since the last notification
	timeStage     int       // and the timer
	expires       unit.Time // when the timer ends its cycle
	hyper         int       // events of hyper-active increase so far
	notifications int64
}

// NewQCN returns a reaction point that is not limited: it begins to be with the
// first notification.
func NewQCN(c QCNConfig) (*QCN, error) {
	switch {
	case c.Line <= 0 || c.MinRate <= 0 || c.MinRate > c.Line:
		return nil, fmt.Errorf("reaction point: the lowest rate, %v, must be between 1b/s and that of the link, %v", c.MinRate, c.Line)
	case c.ByteReset < 1 || c.TimeReset < 0 || c.Threshold < 1:
		return nil, fmt.Errorf("reaction point: a byte counter of %v, a timer of %v and %d cycles of fast recovery: all must be positive (a timer of 0 is none)", c.ByteReset, c.TimeReset, c.Threshold)
	case c.ActiveIncrease < 0 || c.HyperIncrease < 0:
		return nil, fmt.Errorf("reaction point: increases of %v and %v: they cannot be negative", c.ActiveIncrease, c.HyperIncrease)
	case c.Gd < 0 || c.Gd > 30 || c.MinDecrease < 0 || c.MinDecrease > 100 || c.Jitter < 0 || c.Jitter > 99:
		return nil, fmt.Errorf("reaction point: Gd of %d, a least share of %d %% and jitter of %d %% are out of range", c.Gd, c.MinDecrease, c.Jitter)
	case c.Jitter > 0 && c.Random == nil:
		return nil, fmt.Errorf("reaction point: jitter wants a generator of random numbers")
	}
	return &QCN{c: c, current: c.Line, target: c.Line, expires: unit.Never}, nil
}

// Rate returns the current rate.
func (q *QCN) Rate() unit.Rate { return q.current }

// Target returns the target rate.
func (q *QCN) Target() unit.Rate { return q.target }

// Active reports whether the flows are limited.
func (q *QCN) Active() bool { return q.active }

// Stages returns how many cycles the byte counter and the timer have ended since
// the last notification.
func (q *QCN) Stages() (bytes, timer int) { return q.byteStage, q.timeStage }

// Deadline returns when the timer ends its cycle.
func (q *QCN) Deadline() unit.Time { return q.expires }

// Feedback takes in a notification; an Fb of 0 says nothing.
func (q *QCN) Feedback(now unit.Time, f wire.Frame) {
	if f.Kind != wire.Notification || f.Fb == 0 {
		return
	}
	q.notifications++
	if !q.active {
		q.active = true
		q.current, q.target = q.c.Line, q.c.Line
		q.byteStage = 1 // so that the target is set below
	}
	// Extra fast recovery: while the byte counter is in its first cycle the rate has
	// not recovered, and is not what the target should be.
	if q.byteStage != 0 {
		q.target = q.current
		q.bytes = q.c.ByteReset
	}
	q.byteStage, q.timeStage, q.hyper = 0, 0, 0
	least := scale(q.current, int64(q.c.MinDecrease), 100)
	lowered := q.current - scale(q.current, int64(f.Fb), 1<<q.c.Gd)
	q.current = max(lowered, least, q.c.MinRate)
	q.setTimer(now)
}

// Sent counts what leaves.
func (q *QCN) Sent(_ unit.Time, n unit.Size) {
	if !q.active {
		return
	}
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
	q.increase()
}

// Advance ends the cycle of the timer, if it is time.
func (q *QCN) Advance(now unit.Time) {
	if !q.active || now < q.expires {
		return
	}
	q.timeStage++
	q.setTimer(q.expires) // from when it was due: to be told late moves nothing
	q.increase()
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
	return max(1, cycle-span+int64(q.c.Random.Below(uint64(2*span)+1)))
}

// increase raises the rate at the end of a cycle.
func (q *QCN) increase() {
	bytes, timer, threshold := q.byteStage, q.timeStage, q.c.Threshold
	var up unit.Rate
	switch {
	case bytes > threshold && timer > threshold:
		q.hyper++
		n := min(bytes, timer) - threshold
		if q.c.Talk {
			n = q.hyper
		}
		up = q.c.HyperIncrease * unit.Rate(n)
	case bytes > threshold || timer > threshold:
		up = q.c.ActiveIncrease
	}
	// Target rate reduction: in the first cycle a target far above the rate is one
	// that the network has not for this source.
	if (bytes == 1 || timer == 1) && q.target > 10*q.current {
		q.target /= 8
	} else {
		q.target = min(q.target+up, q.c.Line)
	}
	q.current = min((q.current+q.target)/2, q.c.Line)
	// Halves never quite add up; the last bit per second does not count.
	if q.target == q.c.Line && q.current >= q.c.Line-1 {
		q.current, q.active, q.expires = q.c.Line, false, unit.Never
	}
}

// scale returns r * num / den, rounded down.
func scale(r unit.Rate, num, den int64) unit.Rate {
	return unit.Rate(unit.Duration(r).Scale(num, den))
}
