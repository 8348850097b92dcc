package fluid

import (
	"fmt"
	"math"
	"slices"

	"fabemu/wire/unit"
)

// BCN is the loop of Backward Congestion Notification with the algorithms of Raj Jain's slides
// of July 2006: sources that each cross some links, and a queue in front of each link.
// The slides print two of the algorithms with slips: "Min{0, R(1 - Gd|Fb|)}" is max(0, ...), and
// "Qoff = min{Qeq, Qeq - Qlen}" has only the upper clamp; the range has both.
type BCN struct {
	Capacity []unit.Rate     // of each link
	Paths    [][]int         // of each source: the links that it crosses, as indices of Capacity
	Start    []unit.Duration // of each source; nil: all at once
	Line     unit.Rate       // of each source, while it has no limiter
	Initial  unit.Rate       // of a limiter that is new
	MinRate  unit.Rate       // of a limiter
	Delay    unit.Duration   // from a sample to its effect at the queue: propagation, switching, reaction
	Memory   unit.Size       // a full one pauses the sources

	Qeq    unit.Size
	Frame  unit.Size // of a data frame; Fb counts frames
	Pm     float64   // the share of the frames that is sampled
	W      float64   // weight of Qdelta
	Gi, Gd float64
	Ru     unit.Rate
	Spread float64 // standard deviation of Fb by chance, in frames; above 0
}

// Published returns the loop of some sources that share a link of 10 Gb/s, with the gains
// that are published with BCN (Y. Lu, R. Pan, B. Prabhakar, D. Bergamasco et al., 2006),
// and Pm, Ru and the initial rate of the slides.
func Published(sources int) BCN {
	return BCN{
		Capacity: []unit.Rate{10e9}, Paths: slices.Repeat([][]int{{0}}, sources),
		Line: 10e9, Initial: 5e9, MinRate: 1e6, Delay: 5 * unit.Microsecond, Memory: 150 * unit.KB,
		Qeq: 24 * unit.KB, Frame: 1500, Pm: 0.01, W: 2, Gi: 4, Gd: 1.0 / 128, Ru: 8e6, Spread: 2,
	}
}

// BCNCourse is how a loop of BCN goes, at equal steps of time.
type BCNCourse struct {
	Step  unit.Duration
	Queue [][]float64 // of each link, in bytes
	Rate  [][]float64 // of each source, in bits per second
}

// Solve follows the equations for a time, in steps of at most a fifth of the shortest
// sampling interval of a full link, Frame/(Capacity Pm).
func (c BCN) Solve(during, step unit.Duration) (*BCNCourse, error) {
	if err := c.check(during, step); err != nil {
		return nil, err
	}
	s := c.loop(int(during/step)+1, step.Seconds())
	out := &BCNCourse{Step: step, Queue: s.queue, Rate: make([][]float64, len(c.Paths))}
	for i := range s.n {
		s.step(i)
		for k := range s.sources {
			out.Rate[k] = append(out.Rate[k], s.sent[k]*8)
		}
	}
	return out, nil
}

func (c *BCN) check(during, step unit.Duration) error {
	switch {
	case len(c.Capacity) == 0 || len(c.Paths) == 0:
		return fmt.Errorf("fluid: %d links and %d sources: it needs at least one of each", len(c.Capacity), len(c.Paths))
	case c.Start != nil && len(c.Start) != len(c.Paths):
		return fmt.Errorf("fluid: %d starts of %d sources", len(c.Start), len(c.Paths))
	case slices.Min(c.Capacity) <= 0 || c.Line <= 0 || c.Initial <= 0 || c.MinRate <= 0 || c.Memory <= 0 || c.Delay < 0:
		return fmt.Errorf("fluid: links of %v, sources of %v, from %v, at least %v, a memory of %v, a delay of %v: all must be positive (the delay may be 0)",
			c.Capacity, c.Line, c.Initial, c.MinRate, c.Memory, c.Delay)
	case c.Qeq <= 0 || c.Frame <= 0 || c.Ru <= 0 || !(c.Pm > 0 && c.Pm <= 1) || !(c.Spread > 0) || !(c.Gi > 0) ||
		!(c.Gd > 0) || !(c.W >= 0):
		return fmt.Errorf("fluid: Qeq %v, frames of %v, Ru %v, Pm %v, a spread of %v, Gi %v, Gd %v, W %v: all must be positive (W may be 0), and Pm at most 1",
			c.Qeq, c.Frame, c.Ru, c.Pm, c.Spread, c.Gi, c.Gd, c.W)
	}
	for i, path := range c.Paths {
		for _, l := range path {
			if l < 0 || l >= len(c.Capacity) {
				return fmt.Errorf("fluid: source %d crosses link %d: there are %d, from 0 on", i, l, len(c.Capacity))
			}
		}
	}
	interval := slices.Max(c.Capacity).Serialise(c.Frame).Seconds() / c.Pm
	if step <= 0 || during < step || step.Seconds() > interval/5 {
		return fmt.Errorf("fluid: steps of %v in %v: at most a fifth of the sampling interval, %.3g µs, are possible",
			step, during, interval*1e6)
	}
	return nil
}

// bcnLoop is the state of the equations: bytes, seconds, bytes per second; feedback in frames.
type bcnLoop struct {
	BCN
	n       int
	dt      float64
	delay   int // in steps
	sources []bcnSource
	queue   [][]float64   // of each link at each step
	sent    []float64     // by each source
	samples [][]bcnSample // of each link at each step
}

type bcnSource struct {
	rate float64
	tags []float64 // for each link of its path: the likelihood that its frames carry that link's tag
}

// bcnSample is the mean of the samples of a queue.
type bcnSample struct {
	up, down float64 // the means of the positive and of the negative part of Fb
	below    float64 // the share of the samples with an Fb below 0
	long     bool    // the queue is longer than Qeq: sources without a limiter are notified too
}

func (c BCN) loop(n int, dt float64) *bcnLoop {
	s := &bcnLoop{BCN: c, n: n, dt: dt, delay: max(1, int(math.Round(c.Delay.Seconds()/dt))),
		sent: make([]float64, len(c.Paths))}
	for _, path := range c.Paths {
		s.sources = append(s.sources, bcnSource{rate: c.Line.BytesPerSecond(), tags: make([]float64, len(path))})
	}
	for range c.Capacity {
		s.queue, s.samples = append(s.queue, make([]float64, n)), append(s.samples, make([]bcnSample, n))
	}
	return s
}

// step continues to step i.
func (s *bcnLoop) step(i int) {
	s.send(i)
	if i == 0 {
		return
	}
	for l, in := range s.loads(s.sent) {
		s.sample(i, l, in)
	}
	if i < s.delay {
		return
	}
	for k := range s.sources {
		s.react(k, i-s.delay)
	}
}

// send sets the rates of the sources that have begun. A full queue pauses its sources alike, each
// for the same share of the time.
func (s *bcnLoop) send(i int) {
	for k := range s.sources {
		if s.sent[k] = 0; s.Start == nil || float64(i)*s.dt >= s.Start[k].Seconds() {
			s.sent[k] = s.sources[k].rate
		}
	}
	load := s.loads(s.sent)
	for k, path := range s.Paths {
		share := 1.0
		for _, l := range path {
			if i > 0 && s.queue[l][i-1] >= float64(s.Memory) {
				share = min(share, s.Capacity[l].BytesPerSecond()/load[l])
			}
		}
		s.sent[k] *= share
	}
}

// sample adds a load to a queue, and samples it. Qdelta is the growth since one sampling interval
// ago.
func (s *bcnLoop) sample(i, l int, in float64) {
	q := s.queue[l]
	q[i] = min(max(q[i-1]+(in-s.Capacity[l].BytesPerSecond())*s.dt, 0), float64(s.Memory))
	if in == 0 {
		return
	}
	old := 0.0
	if ago := i - int(float64(s.Frame)/s.Pm/in/s.dt); ago > 0 {
		old = q[ago]
	}
	qeq := float64(s.Qeq)
	offset, delta := min(max(qeq-q[i], -qeq), qeq), min(max(q[i]-old, -2*qeq), 2*qeq)
	s.samples[l][i] = s.around((offset - s.W*delta) / float64(s.Frame))
	s.samples[l][i].long = q[i] > qeq
}

// around returns the mean of samples with an Fb that is normally distributed about a mean.
func (c *BCN) around(mean float64) bcnSample {
	z := mean / c.Spread
	below := math.Erfc(z/math.Sqrt2) / 2
	up := c.Spread*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) + mean*(1-below)
	return bcnSample{up: up, down: up - mean, below: below}
}

// react changes the rate of a source by the samples of its frames at step at.
func (s *bcnLoop) react(source, at int) {
	x, path := &s.sources[source], s.Paths[source]
	free := 1.0 // how likely there is no limiter
	for k := range path {
		free -= x.tags[k]
	}
	size, down, lowered, begin := 0.0, 0.0, 0.0, 0.0
	for k, l := range path {
		found, notified := s.samples[l][at], 1.0
		if !found.long {
			notified -= free
		}
		size += x.tags[k]*found.up + notified*found.down // an increase needs the tag of its link
		down += notified * found.down
		lowered += found.below
		if found.long {
			begin += found.below
		}
	}
	if size == 0 {
		return
	}
	messages := s.Pm * s.sent[source] / float64(s.Frame) * s.dt
	rate := x.rate + messages*s.slope(x.rate, size, down/size)
	// A limiter that is new begins at the initial rate.
	rate -= min(messages*begin, 1) * free * max(s.Line.BytesPerSecond()-s.Initial.BytesPerSecond(), 0)
	for k, l := range path {
		found, others := s.samples[l][at], 1-x.tags[k]
		if !found.long {
			others -= free
		}
		x.tags[k] += min(messages, 1) * (found.below*others - (lowered-found.below)*x.tags[k])
	}
	x.rate = max(rate, s.MinRate.BytesPerSecond())
	if line := s.Line.BytesPerSecond(); x.rate >= line { // the limiter goes
		x.rate = line
		clear(x.tags)
	}
}

// slope returns the mean change of a rate by a message, the right side of (10). size is E{|e|}, and
// b its share below 0.
func (c *BCN) slope(rate, size, b float64) float64 {
	up := c.Gi * c.Ru.BytesPerSecond()
	return size * (up - b*(c.Gd*rate+up))
}

// softness is the relative overload of a link at which its only source would get only decreases. It
// is the slope of the price in Lyapunov's P.
const softness = 0.001

// price is the g of a link with a load, in seconds per byte.
func (c *BCN) price(l int, load float64) float64 {
	capacity := c.Capacity[l].BytesPerSecond()
	return max(0, load-capacity) / (softness * capacity * capacity)
}

// loads returns the load of each link.
func (c *BCN) loads(rates []float64) []float64 {
	load := make([]float64, len(c.Capacity))
	for k, path := range c.Paths {
		for _, l := range path {
			load[l] += rates[k]
		}
	}
	return load
}

// Lyapunov returns V of the slides, equation (11), for rates in bits per second:
//
//	V(r) = sum over i of log(r_i/(Gd r_i + Gi Ru)) - P(r)
//
// The slides leave P open. Here it is the sum over the links of the integral of their
// price g, which is 0 up to the capacity and rises in a line from there.
func (c BCN) Lyapunov(rates []float64) float64 {
	v, up := 0.0, c.Gi*float64(c.Ru)
	for _, r := range rates {
		v += math.Log(r / (c.Gd*r + up))
	}
	for l, load := range c.loads(rates) {
		over := max(0, load/float64(c.Capacity[l])-1)
		v -= over * over / (2 * softness)
	}
	return v
}

// Ascent is a solution of the slides' own equation.
type Ascent struct {
	Step unit.Duration
	Rate [][]float64 // of each source, in bits per second
	V    []float64
}

// Ascend follows the slides' own equation, (10), from given rates in bits per second: with
// the b_i that is the derivative of P, r_i times the sum of the prices of its path, and
// feedback whose size does not depend on its sign. There is no queue in it.
func (c BCN) Ascend(from []float64, during, step unit.Duration) (*Ascent, error) {
	if err := c.check(during, step); err != nil {
		return nil, err
	}
	if len(from) != len(c.Paths) || slices.Min(from) <= 0 {
		return nil, fmt.Errorf("fluid: rates of %v for %d sources: each source needs one above 0", from, len(c.Paths))
	}
	out := &Ascent{Step: step, Rate: make([][]float64, len(from))}
	rates, size := make([]float64, len(from)), c.Spread*math.Sqrt(2/math.Pi)
	for k := range from {
		rates[k] = from[k] / 8
	}
	for range int(during/step) + 1 {
		now := make([]float64, len(rates))
		for k := range rates {
			now[k] = rates[k] * 8
			out.Rate[k] = append(out.Rate[k], now[k])
		}
		out.V = append(out.V, c.Lyapunov(now))
		load := c.loads(rates)
		for k, path := range c.Paths {
			price := 0.0
			for _, l := range path {
				price += c.price(l, load[l])
			}
			messages := c.Pm * rates[k] / float64(c.Frame) * step.Seconds()
			rates[k] += messages * c.slope(rates[k], size, min(rates[k]*price, 1))
		}
	}
	return out, nil
}
