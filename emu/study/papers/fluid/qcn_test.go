package fluid

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire/unit"
)

const (
	us = unit.Microsecond
	ms = unit.Millisecond
)

func solve(t *testing.T, c QCN, during unit.Duration) *Course {
	t.Helper()
	course, err := c.Solve(during, 5*us)
	if err != nil {
		t.Fatal(err)
	}
	return course
}

// The fixed point: sources together at the rate of the link, their targets with them,
// and a queue that is no shorter than Qeq, because only then a source is notified, and only
// as much longer as the feedback must be.
func TestQCNSettlesAtQeq(t *testing.T) {
	for _, n := range []int{2, 5, 10, 20} {
		c := Standard(n, 50*us)
		course := solve(t, c, 300*ms)
		qeq := float64(c.Qeq)
		if q := course.Mean(course.Queue, 200*ms, 300*ms); q < qeq || q > 1.25*qeq {
			t.Errorf("%d sources: a queue of %.0f bytes, want %.0f to a quarter more", n, q, qeq)
		}
		if d := course.Deviation(course.Queue, 200*ms, 300*ms); d > qeq/20 {
			t.Errorf("%d sources: the queue varies by %.0f bytes", n, d)
		}
		for name, of := range map[string][]float64{"rates": course.Rate, "targets": course.Target} {
			if sum := float64(n) * course.Mean(of, 200*ms, 300*ms); math.Abs(sum-10e9) > 20e6 {
				t.Errorf("%d sources: their %s add up to %.3f Gb/s, want 10", n, name, sum/1e9)
			}
		}
	}
}

// The talk, Summary: "oscillating queues can overflow or underflow. In either case,
// links cannot be fully utilized". A longer RTT makes the loop oscillate, and more
// sources do so earlier.
func TestQCNOscillatesWithALongRTT(t *testing.T) {
	swing := func(n int, rtt unit.Duration) float64 {
		c := Standard(n, rtt)
		course := solve(t, c, 300*ms)
		return course.Deviation(course.Queue, 150*ms, 300*ms) / float64(c.Qeq)
	}
	for _, n := range []int{2, 10} {
		if s := swing(n, 50*us); s > 0.05 {
			t.Errorf("%d sources, 50 us: the queue varies by %.2f Qeq", n, s)
		}
		if s := swing(n, 2*ms); s < 0.5 {
			t.Errorf("%d sources, 2 ms: the queue varies by %.2f Qeq only", n, s)
		}
	}
	if few, many := swing(10, 200*us), swing(100, 200*us); many < 2*few {
		t.Errorf("200 us: the queue of 10 sources varies by %.2f Qeq, that of 100 by %.2f", few, many)
	}
}

// Without a timer, sources that are slow take long to recover: their cycles are long
// (the talk, "Timer-supported QCN").
func TestTheTimerRecoversSlowSources(t *testing.T) {
	recovery := func(timer unit.Duration) unit.Duration {
		c := Standard(10, 50*us)
		c.Offered, c.TimeReset = 1050e6, timer
		c.Capacity = 2e9
		s := newLoop(c, int(1500*ms/(5*us)), (5 * us).Seconds())
		for i := range s.n {
			if i == int(200*ms/(5*us)) {
				s.Capacity = 10e9
			}
			s.step(i)
			if s.Capacity == 10e9 && 8*s.sent[i]*10 > 9.5e9 {
				return unit.Duration(i)*5*us - 200*ms
			}
		}
		return unit.Duration(unit.Never)
	}
	with, without := recovery(10*ms), recovery(0)
	if with < 50*ms || with > 140*ms {
		t.Errorf("with a timer of 10 ms it takes %v, want somewhat more than its five cycles", with)
	}
	if without < 3*with {
		t.Errorf("without it takes %v, with it %v", without, with)
	}
}

func TestWhatCannotBeSolvedIsRefused(t *testing.T) {
	good := Standard(10, 50*us)
	for name, change := range map[string]func(*QCN){
		"0 sources":       func(c *QCN) { c.Sources = 0 },
		"RTT of 0s":       func(c *QCN) { c.RTT = 0 },
		"Qeq 0B":          func(c *QCN) { c.Qeq = 0 },
		"a timer of 0":    func(c *QCN) { c.TimeReset = -1 },
		"fifth of the":    func(c *QCN) { c.RTT = 10 * us },
		"a memory of -1B": func(c *QCN) { c.Memory = -1 },
	} {
		c := good
		change(&c)
		if _, err := c.Solve(100*ms, 5*us); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
}
