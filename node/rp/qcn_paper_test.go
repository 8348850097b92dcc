package rp

import (
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// The rules of QCN's reaction point, each with the slide of the talk (B. Prabhakar,
// "QCN: Quantized Congestion Notification", Stanford) or the clause of
// IEEE 802.1Qau that has it. Jitter is off where the rule has none of it.

const (
	gbps = unit.Rate(1e9)
	mbps = unit.Rate(1e6)
)

func standard() QCNParams {
	return QCNParams{
		MinRate: 5 * mbps, ByteReset: 150000, TimeReset: 15 * unit.Millisecond, Threshold: 5,
		ActiveIncrease: 5 * mbps, HyperIncrease: 50 * mbps, Gd: 7, MinDecrease: 50,
	}
}

// site is an endpoint at a link of 10 Gb/s.
var site = Site{Line: 10 * gbps, Length: 1500}

func sampleQCN(t *testing.T, c QCNParams, random ...*unit.Random) *QCN {
	t.Helper()
	site := site
	for _, r := range random {
		site.Random = r
	}
	q, err := NewQCN(c, site)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func cnm(fb uint8) wire.Frame {
	return wire.Frame{Kind: wire.Notification, Extension: wire.ExtensionOf(wire.SampleExtension{Fb: fb})}
}

// send lets n frames of 1500 bytes leave.
func send(q *QCN, n int) {
	for range n {
		q.Sent(0, 1500)
	}
}

// expire ends so many cycles of the timer.
func expire(t *testing.T, q *QCN, n int) {
	t.Helper()
	for range n {
		if q.Deadline() == unit.Never {
			t.Fatal("the timer does not run")
		}
		q.Advance(q.Deadline())
	}
}

func wantRates(t *testing.T, q *QCN, current, target unit.Rate) {
	t.Helper()
	if q.Rate() != current || q.Target() != target {
		t.Errorf("current %v, target %v; want %v, %v", q.Rate(), q.Target(), current, target)
	}
}

// Clause 32.15 (RP decrease): the current rate becomes the target, and Fb/128 of
// it is taken off.
func TestQCNDecrease(t *testing.T) {
	q := sampleQCN(t, standard())
	wantRates(t, q, 10*gbps, 10*gbps)
	if q.Active() || q.Deadline() != unit.Never {
		t.Error("it is limited before the first notification")
	}
	q.Feedback(0, cnm(32))
	wantRates(t, q, 7500*mbps, 10*gbps)
	if !q.Active() || q.Deadline() != unit.Time(15*unit.Millisecond) {
		t.Errorf("active %v, timer at %v", q.Active(), q.Deadline())
	}
}

// The talk, "Basic QCN": Fb has 6 bits, so that the most that one notification
// takes is 63/128.
func TestQCNLargestDecrease(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(63))
	wantRates(t, q, 10*gbps-10*gbps*63/128, 10*gbps)
}

// rpgMinDecFac: never below this share at a time; rpgMinRate: never below this.
func TestQCNFloors(t *testing.T) {
	c := standard()
	c.Gd = 5 // 63/32 would be more than all
	q := sampleQCN(t, c)
	q.Feedback(0, cnm(63))
	wantRates(t, q, 5*gbps, 10*gbps)
	for range 30 {
		q.Feedback(0, cnm(63))
	}
	if q.Rate() != c.MinRate {
		t.Errorf("rate %v, want the lowest, %v", q.Rate(), c.MinRate)
	}
}

// The talk, "reflect only negative Fb values": a notification without feedback, and
// any other frame, changes nothing.
func TestQCNOnlyNegativeFeedback(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(0))
	q.Feedback(0, wire.Frame{Kind: wire.Ack, BECN: true})
	if q.Active() {
		t.Error("it is limited")
	}
}

// The talk, "Timer-supported QCN": 5 cycles of fast recovery of 150 KB each, at the
// end of which the rate goes half the way to the target.
func TestQCNFastRecoveryByBytes(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(64-1))
	r := q.Rate()
	for cycle := 1; cycle <= 5; cycle++ {
		send(q, 100)
		wantRates(t, q, r, 10*gbps) // 150000 bytes: it ends when they are exceeded
		send(q, 1)
		r = (r + 10*gbps) / 2
		wantRates(t, q, r, 10*gbps)
		if b := q.byteStage; b != cycle {
			t.Errorf("%d cycles, want %d", b, cycle)
		}
		q.bytes = 150000 // the frame that ended the cycle is not part of the next
		if cycle == 5 {
			q.bytes = 75000
		}
	}
}

// The same slide: the byte counter's cycles have 75 KB after fast recovery, the
// timer's T/2.
func TestQCNCyclesAreHalvedAfterFastRecovery(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(63))
	send(q, 5*101)
	if q.bytes != 75000 {
		t.Errorf("the sixth cycle has %d bytes, want 75000", q.bytes)
	}
	q = sampleQCN(t, standard())
	q.Feedback(0, cnm(63))
	expire(t, q, 5)
	if at, want := q.Deadline(), unit.Time(5*15*unit.Millisecond+15*unit.Millisecond/2); at != want {
		t.Errorf("the sixth cycle of the timer ends at %v, want %v", at, want)
	}
}

// The talk, "Rate Adjustments", active increase: one of byte counter and timer is
// past fast recovery: TR = TR + RAI, CR = (CR+TR)/2.
func TestQCNActiveIncrease(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(63))
	send(q, 10*101) // settles near the line
	for range 12 {
		q.Feedback(0, cnm(63))
		q.byteStage = 1 // each counts for itself: the target falls too
	}
	q.Feedback(0, cnm(63))
	target := q.Target()
	expire(t, q, 1)
	if q.Target() != target {
		t.Errorf("fast recovery moved the target from %v to %v", target, q.Target())
	}
	expire(t, q, 4)
	if q.Target() != target {
		t.Errorf("the fifth cycle moved the target from %v to %v", target, q.Target())
	}
	r := q.Rate()
	expire(t, q, 1)
	wantRates(t, q, (r+target+5*mbps)/2, target+5*mbps)
}

// Clause 32.14 (hyper-active increase): both are past fast recovery; the target
// rises by RHAI times the smaller number of cycles past it.
func TestQCNHyperIncrease(t *testing.T) {
	q := sampleQCN(t, standard())
	q.active, q.current, q.target, q.expires = true, gbps, gbps, 0
	q.byteStage, q.timeStage = 6, 5
	expire(t, q, 1) // 6, 6
	wantRates(t, q, gbps+25*mbps, gbps+50*mbps)
	expire(t, q, 1) // 6, 7: the smaller number counts
	if want := gbps + 100*mbps; q.Target() != want {
		t.Errorf("target %v, want %v", q.Target(), want)
	}
	q.bytes = 0
	send(q, 1) // 7, 7
	if want := gbps + 200*mbps; q.Target() != want {
		t.Errorf("target %v, want %v", q.Target(), want)
	}
}

// The talk, "Rate Adjustments", HAI: at the end of event number i TR = TR + i*RHAI,
// whichever of the two it is.
func TestQCNHyperIncreaseOfTheTalk(t *testing.T) {
	c := standard()
	c.Version = Talk
	q := sampleQCN(t, c)
	q.active, q.current, q.target, q.expires, q.since = true, gbps, gbps, 0, 750000
	q.byteStage, q.timeStage = 6, 5
	for i, want := range []unit.Rate{50, 150, 300, 500} { // 50 x (1, 1+2, 1+2+3, ...)
		expire(t, q, 1)
		if q.Target() != gbps+want*mbps {
			t.Errorf("event %d: target %v, want %v", i+1, q.Target(), gbps+want*mbps)
		}
	}
	q.Feedback(0, cnm(1))
	if q.hyper != 0 {
		t.Error("a notification does not end the count of events")
	}
}

// The talk's note: "RL goes to HAI only after 500 pkts have been sent", which is the
// byte counter's fast recovery: 5 x 150 KB.
func TestQCNHyperIncreaseAfter500Packets(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(63))
	q.current, q.target = gbps, gbps
	expire(t, q, 20)
	send(q, 499)
	if q.hyper != 0 {
		t.Error("hyper-active increase before 500 packets")
	}
	send(q, 10) // each cycle ends with the frame after its 150 KB
	expire(t, q, 1)
	if q.hyper != 0 {
		t.Error("hyper-active increase in the sixth cycle of the byte counter: it must have ended six")
	}
	send(q, 60)
	if q.hyper != 1 {
		t.Errorf("%d events of hyper-active increase, want 1", q.hyper)
	}
}

// The talk, "EFR ... enabled during first cycle of byte-ctr": notifications of a
// burst lower the rate, and the target stays what the rate was before.
func TestQCNExtraFastRecovery(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(32))
	send(q, 50)
	q.Feedback(0, cnm(32))
	wantRates(t, q, 5625*mbps, 10*gbps)
	send(q, 51) // the byte counter was not set back: its first cycle ends
	if b := q.byteStage; b != 1 {
		t.Fatalf("%d cycles, want 1", b)
	}
	r := q.Rate()
	q.Feedback(0, cnm(32))
	wantRates(t, q, r*3/4, r)
}

// The talk, "Rate Adjustments", HAI: "This means at least 500 pkts have been transmitted
// since last ding", also where one came in the first cycle of the byte counter, which goes
// on.
func TestQCNHyperIncreaseOfTheTalkCountsFromTheLastNotification(t *testing.T) {
	for _, talk := range []bool{false, true} {
		c := standard()
		if talk {
			c.Version = Talk
		}
		q := sampleQCN(t, c)
		q.Feedback(0, cnm(32))
		send(q, 99)
		q.Feedback(0, cnm(32))
		q.current, q.target = gbps, gbps
		expire(t, q, 6)
		send(q, 499)
		if (q.hyper == 0) != talk {
			t.Errorf("talk %t: %d events of hyper-active increase after 499 packets", talk, q.hyper)
		}
		send(q, 100)
		if q.hyper == 0 {
			t.Errorf("talk %t: no hyper-active increase", talk)
		}
	}
}

// The talk, "target rate reduction enabled during first cycle": a target of more
// than ten times the rate is divided by 8.
func TestQCNTargetRateReduction(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(63))
	for range 4 {
		q.Feedback(0, cnm(63)) // a burst
	}
	if q.Target() <= 10*q.Rate() {
		t.Fatalf("current %v, target %v: no case for it", q.Rate(), q.Target())
	}
	r := q.Rate()
	send(q, 101)
	wantRates(t, q, (r+10*gbps/8)/2, 10*gbps/8)
	send(q, 101) // only in the first cycle
	if q.Target() != 10*gbps/8 {
		t.Errorf("target %v", q.Target())
	}
}

// The talk, "EFR and Target rate reduction enabled during first cycle of byte-ctr": not in
// the first cycle of the timer, when that of the byte counter is over.
func TestQCNTargetRateReductionOfTheTalk(t *testing.T) {
	for _, talk := range []bool{false, true} {
		c := standard()
		if talk {
			c.Version = Talk
		}
		q := sampleQCN(t, c)
		for range 5 {
			q.Feedback(0, cnm(63))
		}
		q.byteStage = 1 // its first cycle is over
		r, want := q.Rate(), 10*gbps
		expire(t, q, 1)
		if !talk {
			want /= 8
		}
		wantRates(t, q, (r+want)/2, want)
	}
	c := standard()
	c.Version = Talk
	q := sampleQCN(t, c)
	for range 5 {
		q.Feedback(0, cnm(63))
	}
	r := q.Rate()
	expire(t, q, 1) // a cycle of the timer that ends in the first one of the byte counter
	wantRates(t, q, (r+10*gbps/8)/2, 10*gbps/8)
}

// The talk, "Fb < 0 sends timer to FR": a notification begins both again.
func TestQCNNotificationBeginsBothAnew(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(63))
	send(q, 303)
	expire(t, q, 2)
	now := q.Deadline() - 1
	q.Feedback(now, cnm(10))
	if b, timer := q.byteStage, q.timeStage; b != 0 || timer != 0 || q.bytes != 150000 || q.Deadline() != now.Add(15*unit.Millisecond) {
		t.Errorf("stages %d, %d, %d bytes, timer at %v", b, timer, q.bytes, q.Deadline())
	}
}

// Basic QCN has no timer.
func TestQCNBasic(t *testing.T) {
	c := standard()
	c.TimeReset = 0
	q := sampleQCN(t, c)
	q.Feedback(0, cnm(63))
	if q.Deadline() != unit.Never {
		t.Error("there is a timer")
	}
	r := q.Rate()
	send(q, 101)
	wantRates(t, q, (r+10*gbps)/2, 10*gbps)
}

// A rate that has come back to the link's is not limited any more.
func TestQCNIsReleased(t *testing.T) {
	q := sampleQCN(t, standard())
	q.Feedback(0, cnm(1))
	for i := 0; q.Active(); i++ {
		if i > 100 {
			t.Fatalf("after 100 cycles the rate is %v", q.Rate())
		}
		expire(t, q, 1)
	}
	wantRates(t, q, 10*gbps, 10*gbps)
	if q.Deadline() != unit.Never {
		t.Error("the timer still runs")
	}
	send(q, 1000)
	if b := q.byteStage; q.Active() || b > 1 {
		t.Error("it counts although it is not limited")
	}
}

// Jitter: cycles are 85 to 115 % of their length, evenly.
func TestQCNJitter(t *testing.T) {
	c := standard()
	c.Jitter = 15
	q := sampleQCN(t, c, unit.NewRandom(1, 1))
	var sum float64
	low, high := 2.0, 0.0
	const n = 10000
	for range n {
		v := float64(q.jitter(150000)) / 150000
		sum, low, high = sum+v, min(low, v), max(high, v)
	}
	if low < 0.85 || low > 0.852 || high > 1.15 || high < 1.148 || sum/n < 0.998 || sum/n > 1.002 {
		t.Errorf("cycles of %.4f to %.4f, mean %.4f", low, high, sum/n)
	}
}

func TestQCNMistakes(t *testing.T) {
	for want, change := range map[string]func(*QCNParams){
		"lowest rate":  func(c *QCNParams) { c.MinRate = 11 * gbps },
		"byte-reset":   func(c *QCNParams) { c.ByteReset = 0 },
		"threshold":    func(c *QCNParams) { c.Threshold = 0 },
		"negative":     func(c *QCNParams) { c.ActiveIncrease = -1 },
		"min-decrease": func(c *QCNParams) { c.MinDecrease = 101 },
	} {
		c := standard()
		change(&c)
		if _, err := NewQCN(c, site); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
