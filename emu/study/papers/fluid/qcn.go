package fluid

import (
	"fmt"
	"math"

	"fabemu/wire/unit"
)

// QCN is the loop of QCN with sources that are all alike and begin at once: the unit step of the
// talk "QCN: Quantized Congestion Notification".
type QCN struct {
	Sources  int
	Line     unit.Rate     // of each source
	Offered  unit.Rate     // by each source; 0: as much as it may
	Capacity unit.Rate     // of the link that they share
	RTT      unit.Duration // from a source to the queue and, with the notification, back
	Memory   unit.Size     // a full one pauses the sources

	Qeq        unit.Size
	Weight     float64   // w
	SampleBase unit.Size // bytes between samples when nothing is wrong

	ByteReset      unit.Size     // a cycle of the byte counter
	TimeReset      unit.Duration // a cycle of the timer; 0: there is none
	Threshold      int           // cycles of fast recovery
	ActiveIncrease unit.Rate
	HyperIncrease  unit.Rate
	MinRate        unit.Rate
}

// Standard returns the loop with the parameters of the talk's simulations and the
// rules of IEEE 802.1Qau.
func Standard(sources int, rtt unit.Duration) QCN {
	return QCN{
		Sources: sources, Line: 10e9, Capacity: 10e9, RTT: rtt, Memory: 150 * unit.KB,
		Qeq: 33 * unit.KB, Weight: 2, SampleBase: 150 * unit.KB,
		ByteReset: 150 * unit.KB, TimeReset: 10 * unit.Millisecond, Threshold: 5,
		ActiveIncrease: 5e6, HyperIncrease: 50e6, MinRate: 10e6,
	}
}

// Course is how a loop goes, at equal steps of time.
type Course struct {
	times
	Queue  []float64 // bytes
	Rate   []float64 // of a source, bits per second
	Target []float64 // of its reaction point, bits per second
}

// intervals is how SampleBase shrinks with the upper three bits of the quantised
// feedback (IEEE 802.1Qau: the table of sampling intervals).
var intervals = [8]float64{1, 0.5, 1.0 / 3, 0.25, 0.2, 1.0 / 6, 1.0 / 7, 0.123}

// Solve follows the equations for a time, in steps of at most a fifth of the RTT.
func (c QCN) Solve(during, step unit.Duration) (*Course, error) {
	switch {
	case c.Sources < 1 || c.Line <= 0 || c.Capacity <= 0 || c.RTT <= 0 || c.Memory <= 0:
		return nil, fmt.Errorf("fluid: %d sources at %v, a link of %v, an RTT of %v and a memory of %v: all must be positive",
			c.Sources, c.Line, c.Capacity, c.RTT, c.Memory)
	case c.Qeq <= 0 || c.SampleBase <= 0 || c.ByteReset <= 0 || c.TimeReset < 0 || c.Threshold < 1:
		return nil, fmt.Errorf("fluid: Qeq %v, samples each %v, cycles of %v and %v: all must be positive (a timer of 0 is none)",
			c.Qeq, c.SampleBase, c.ByteReset, c.TimeReset)
	case step <= 0 || during < step || step > c.RTT/5:
		return nil, fmt.Errorf("fluid: steps of %v in %v: at most a fifth of the RTT, %v, are possible",
			step, during, c.RTT)
	}
	s := newLoop(c, int(during/step)+1, step.Seconds())
	out := &Course{times: times{step}, Queue: make([]float64, s.n), Rate: make([]float64, s.n),
		Target: make([]float64, s.n)}
	for i := range s.n {
		s.step(i)
		out.Queue[i], out.Rate[i], out.Target[i] = s.q[i], s.sent[i]*8, s.target*8
	}
	return out, nil
}

// loop is the state of the equations: bytes, seconds, bytes per second.
type loop struct {
	QCN
	n       int
	dt      float64
	delay   int     // steps of half an RTT
	line    float64 // rate of a source that is not limited
	rate    float64 // mean rate of limited sources
	target  float64
	free    float64 // share of sources that were never notified
	q       []float64
	sent    []float64 // by a source
	x, l    []float64 // X and L
	arrived []float64 // notifications of a source within a step
	fb      []float64 // quantised, not rounded
	sampled []float64 // notifications that the queue sends to a source, per second

	// Of the byte counter and the timer, for each cycle: the first step whose sources have
	// not ended it.
	next  [2][]int
	cycle float64 // of the byte counter
}

func newLoop(c QCN, n int, dt float64) *loop {
	s := &loop{QCN: c, n: n, dt: dt, free: 1, delay: max(1, int(math.Round(c.RTT.Seconds()/2/dt))),
		cycle: float64(c.ByteReset)}
	s.line = c.Line.BytesPerSecond()
	s.rate, s.target = s.line, s.line
	for _, v := range []*[]float64{&s.q, &s.sent, &s.x, &s.l, &s.arrived, &s.fb, &s.sampled} {
		*v = make([]float64, n)
	}
	return s
}

// step continues to step i.
func (s *loop) step(i int) {
	s.sent[i] = s.sending()
	if i == 0 {
		return
	}
	if s.q[i-1] == float64(s.Memory) { // the sources are paused, and share the capacity
		s.sent[i] = min(s.sent[i], s.Capacity.BytesPerSecond()/float64(s.Sources))
	}
	s.queue(i)
	s.x[i] = s.x[i-1] + s.sent[i]*s.dt
	lambda, fb := 0.0, 0.0
	if k := i - s.delay; k >= 0 {
		lambda, fb = s.sampled[k], s.fb[k]
	}
	s.arrived[i] = lambda * s.dt
	s.l[i] = s.l[i-1] + s.arrived[i]
	s.notify(i, lambda, fb)
	s.recover(i)
}

// sending returns the mean rate of a source. Some are not limited yet.
func (s *loop) sending() float64 {
	r, line := s.rate, s.line
	if s.Offered > 0 {
		r, line = min(r, s.Offered.BytesPerSecond()), min(line, s.Offered.BytesPerSecond())
	}
	return s.free*line + (1-s.free)*r
}

// queue adds the load of half an RTT ago to the queue, and samples it.
func (s *loop) queue(i int) {
	in := 0.0
	if k := i - s.delay; k >= 0 {
		in = float64(s.Sources) * s.sent[k]
	}
	s.q[i] = min(max(s.q[i-1]+(in-s.Capacity.BytesPerSecond())*s.dt, 0), float64(s.Memory))
	if in == 0 {
		return
	}
	// The queue of a sampling interval ago; the present feedback sets the interval.
	interval := float64(s.SampleBase) * intervals[int(s.fb[i-1])>>3]
	ago := i - int(interval/in/s.dt)
	old := 0.0
	if ago > 0 {
		old = s.q[ago]
	}
	qeq := float64(s.Qeq)
	most := qeq * (2*s.Weight + 1)
	// Rounding down subtracts half a step, on average.
	s.fb[i] = min(max((s.q[i]-qeq+s.Weight*(s.q[i]-old))*63/most-0.5, 0), 63)
	if s.fb[i] > 0 {
		s.sampled[i] = in / float64(s.Sources) / interval
	}
}

// notify lowers rates.
func (s *loop) notify(i int, lambda, fb float64) {
	if lambda == 0 {
		return
	}
	share, left := lambda*s.dt, 1-min(fb/128, 0.5)
	// Only sources whose byte counter has ended a cycle since their last notification take
	// a new target: extra fast recovery.
	first := 0.0
	if len(s.next[0]) > 0 {
		first = math.Exp(s.l[s.next[0][0]] - s.l[i])
	}
	s.target -= share * first * (s.target - s.rate)
	s.rate = max(s.rate*(1-share*(1-left)), s.MinRate.BytesPerSecond())
	// Sources that were never notified begin to be limited.
	begin := min(share, 1) * s.free
	if limited := 1 - s.free; begin > 0 {
		s.rate = (s.rate*limited + begin*s.line*left) / (limited + begin)
		s.target = (s.target*limited + begin*s.line) / (limited + begin)
	}
	s.free -= begin
}

// unlikely is a share of sources that does not matter.
const unlikely = 1e-9

// recover raises rates, as cycles end.
func (s *loop) recover(i int) {
	s.ends(i, 0, func(k, u int) bool { return s.x[i]-s.x[u] >= s.length(k)*s.cycle })
	if s.TimeReset > 0 {
		s.ends(i, 1, func(k, u int) bool { return float64(i-u)*s.dt >= s.length(k)*s.TimeReset.Seconds() })
	}
}

// length returns the length of k cycles in whole cycles. From the threshold on they are
// halves.
func (s *loop) length(k int) float64 {
	return float64(min(k, s.Threshold)) + float64(max(k-s.Threshold, 0))/2
}

// ends ends the cycles of a counter that end in step i.
func (s *loop) ends(i, counter int, over func(k, u int) bool) {
	next := &s.next[counter]
	for k := 1; ; k++ {
		if k > len(*next) {
			if k > 1 && (*next)[k-2] == 0 {
				return // no source has ended the cycle before
			}
			*next = append(*next, 0)
		}
		u := (*next)[k-1]
		for ; u < i && over(k, u); u++ {
			if share := s.arrived[u] * math.Exp(s.l[u]-s.l[i]) * (1 - s.free); share > unlikely {
				stage := s.stage(u, i)
				stage[counter] = k
				s.increase(min(share, 1), stage)
			}
		}
		(*next)[k-1] = u
		if math.Exp(s.l[u]-s.l[i]) < unlikely {
			return // no source was without a notification for this long
		}
	}
}

// stage returns how many cycles of byte counter and timer have ended for the sources
// notified at step u.
func (s *loop) stage(u, i int) [2]int {
	cycles := func(v float64) int {
		n := int(v)
		if n > s.Threshold {
			n = s.Threshold + int(2*(v-float64(s.Threshold)))
		}
		return n
	}
	stages := [2]int{cycles((s.x[i] - s.x[u]) / s.cycle), 0}
	if s.TimeReset > 0 {
		stages[1] = cycles(float64(i-u) * s.dt / s.TimeReset.Seconds())
	}
	return stages
}

// increase ends a cycle of a share of the sources.
func (s *loop) increase(share float64, stage [2]int) {
	up, line := 0.0, s.line
	switch t := s.Threshold; {
	case stage[0] > t && stage[1] > t:
		up = s.HyperIncrease.BytesPerSecond() * float64(min(stage[0], stage[1])-t)
	case stage[0] > t || stage[1] > t:
		up = s.ActiveIncrease.BytesPerSecond()
	}
	if (stage[0] == 1 || stage[1] == 1) && s.target > 10*s.rate {
		s.target -= share * s.target * 7 / 8 // target rate reduction
	} else {
		s.target = min(s.target+share*up, line)
	}
	s.rate = min(s.rate+share*(s.target-s.rate)/2, line)
}

// times are the instants of a course.
type times struct{ Step unit.Duration }

// Mean returns the mean of a function over a part of a course.
func (c times) Mean(of []float64, from, to unit.Duration) float64 {
	return unit.Mean(c.part(of, from, to))
}

// Deviation returns the standard deviation.
func (c times) Deviation(of []float64, from, to unit.Duration) float64 {
	mean, part := c.Mean(of, from, to), c.part(of, from, to)
	var squares unit.Total
	for _, v := range part {
		squares.Add((v - mean) * (v - mean))
	}
	return math.Sqrt(squares.Over(float64(len(part))))
}

func (c times) part(of []float64, from, to unit.Duration) []float64 {
	a, b := int(from/c.Step), int(to/c.Step)
	return of[min(a, len(of)):min(b, len(of))]
}
