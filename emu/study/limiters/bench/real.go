package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"fabemu/emu/host"
	"fabemu/node"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// RealCases returns the cases in real time, without a dilation: always a packet of 1500 B, and a
// rate that stays, at which gaps are no whole microseconds. There is no fabric: a source asks the
// limiter, waits, and hands a datagram to the kernel.
func RealCases() []Case {
	var all []Case
	for _, r := range []unit.Rate{90 * mbps, 1100 * mbps} {
		all = append(all, Case{
			Name: "real/" + word(r), Doc: "a rate that stays, and always a packet, in real time",
			Line: 10 * gbps, Duration: 100 * unit.Millisecond, Rates: []Step{{0, r}},
		})
	}
	return all
}

// Real compares limiters in real time. They are measured in turns, and each has its best turn, in
// which its starts were the least late: other work on the machine makes a turn worse and never
// better.
type Real struct {
	Limiter Starts  `json:"limiter"`
	Ideal   Starts  `json:"ideal"`                          // an ideal limiter, which keeps a delay between packets
	Sleep   Starts  `json:"time_sleep"`                     // the ideal limiter with a source that waits by time.Sleep
	Apart   *Starts `json:"without_the_protocol,omitempty"` // in another program: on a clock that stops in its calls

	// Disturbed: the ideal limiter was late, or off its rate, in more than half of its turns. A
	// limiter whose best turn is bad may then have had no turn to itself.
	Disturbed bool `json:"disturbed"`
}

// Starts measures how a source kept to real time.
type Starts struct {
	Packets  int           `json:"packets"`
	Gap      float64       `json:"gap"`         // between starts, over the gap between the limiter's instants: mean of the middle half; 0: too few
	Shortest float64       `json:"gap_p1"`      // between starts, over the gap at the rate: first percentile
	Longest  float64       `json:"gap_p99"`     // the same, 99th percentile
	Late     time.Duration `json:"late_p50_ns"` // from the limiter's instant, or the start before at the same instant, until the kernel has the packet, median
	LateP99  time.Duration `json:"late_p99_ns"`
	Calls    time.Duration `json:"calls_p50_ns"` // duration of the limiter's calls for a packet, median
	CallsP99 time.Duration `json:"calls_p99_ns"`
}

// A right limiter differs from an ideal one by no more than this. On a machine that can judge a
// limiter, the ideal one differs from its rate by no more than this.
const (
	mostRealGap  = 0.05
	mostRealLate = 20 * time.Microsecond // lateness of 99 % of the starts
	mostCalls    = 50 * time.Microsecond // beyond the calls of the ideal limiter, in the median

	realTurns = 3
	mostTurns = 12 // where the limiter does not look right after those
)

// MeasureReal puts a limiter into a case in real time. With apart, the limiter is in another
// program. It is then judged on a clock that is stopped in its calls, so that the path to the other
// program does not count.
func MeasureReal(ctx context.Context, new New, c Case, apart bool, each func(Start)) (*Report, error) {
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	defer b.Close()
	defer host.HoldGC()()
	packet := make([]byte, c.Longest()-overhead())
	p := func() *pacer {
		return &pacer{sleep: time.Sleep, send: func() error {
			err := a.Send(packet)
			if link.IsICMP(err) || errors.Is(err, link.ErrFull) { // no reader: the kernel drops datagrams
				return nil
			}
			return err
		}}
	}
	return measureReal(ctx, new, &c, apart, each, p)
}

// ideal returns the limiter that others are compared with.
func ideal(line unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(line) }

// turns measures n subjects in turns, of which number 1 is the limiter on the bench. It returns the
// merged report of the limiter. Each round has another order, so that none has always run behind
// the same one.
func turns(n int, measure func(subject int) (*meter, error), good func() bool) (r *Report, err error) {
	for round := 1; ; round++ {
		for k := range n {
			subject := (round - 1 + k) % n
			m, err := measure(subject)
			switch {
			case err != nil:
				return nil, err
			case subject != 1:
			case r == nil:
				r = &m.out
			default:
				r.merge(&m.out)
			}
		}
		if ok := good(); round >= realTurns && ok || round >= mostTurns {
			return r, nil
		}
	}
}

// measureReal measures in turns, each with a new pacer.
func measureReal(ctx context.Context, new New, c *Case, apart bool, each func(Start), pacers func() *pacer) (*Report, error) {
	const sleep, other, most = 2, 3, 4 // subjects in addition to the ideal limiter and the one on the bench
	n, real := sleep+1, &Real{}
	if apart {
		n = most
	}
	var of [most][]Starts
	r, err := turns(n, func(subject int) (*meter, error) {
		p, new, each := pacers(), new, each
		if subject == 0 || subject == sleep {
			new = ideal
		}
		if subject != 1 {
			each = nil
		}
		p.naps, p.apart = subject == sleep, subject == other
		m, starts, err := p.run(ctx, new, c, each)
		of[subject] = append(of[subject], starts)
		return m, err
	}, func() bool {
		*real = Real{Ideal: best(of[0]), Limiter: best(of[1]), Sleep: best(of[sleep])}
		good := 0
		for _, x := range of[0] {
			if x.punctual() {
				good++
			}
		}
		real.Disturbed = 2*good < len(of[0])
		if apart {
			starts := best(of[other])
			real.Apart = &starts
		}
		return real.Judged() && len(real.faults()) == 0
	})
	if err != nil {
		return nil, err
	}
	r.Case, r.Fairness, r.Real = c.Name, 1, real
	for _, f := range real.faults() {
		r.add(f)
	}
	return r, nil
}

// best returns the turn whose starts were the least late.
func best(of []Starts) Starts {
	return slices.MinFunc(of, func(a, b Starts) int { return int(a.LateP99 - b.LateP99) })
}

// judged returns the starts by which the limiter is judged.
func (r *Real) judged() *Starts {
	if r.Apart != nil {
		return r.Apart
	}
	return &r.Limiter
}

// Judged reports whether the machine had the time for a judgement: the ideal limiter kept to its
// rate and was in time, in at least half of its turns.
func (r *Real) Judged() bool { return r.Ideal.punctual() && !r.Disturbed }

// punctual reports whether a source with an ideal limiter kept to its rate and was in time.
func (s *Starts) punctual() bool {
	return math.Abs(s.Gap-1) <= mostRealGap && s.LateP99 <= mostRealLate
}

// faults compares the limiter with the ideal one. The calls of a limiter that waits take long on
// any machine.
func (r *Real) faults() (faults []Fault) {
	if most := r.Ideal.Calls + mostCalls; r.Apart == nil && r.Limiter.Calls > most {
		faults = append(faults, Fault{Criterion: Blocks, Text: sentence(
			"the calls for a packet take %v, want at most %v: an ideal limiter on this machine needs %v now; a limiter returns an instant and does not wait for it",
			r.Limiter.Calls, most, r.Ideal.Calls)})
	}
	if !r.Judged() {
		return faults
	}
	of, ideal := r.judged(), &r.Ideal
	if of.Gap > 0 && math.Abs(of.Gap/ideal.Gap-1) > mostRealGap {
		faults = append(faults, Fault{Criterion: RealTime, Text: sentence(
			"in real time packets start %.3g times as far apart as the limiter's instants, want no more than %v %% off the %.3g of an ideal limiter on this machine now",
			of.Gap, 100*mostRealGap, ideal.Gap)})
	}
	if most := ideal.LateP99 + mostRealLate; of.LateP99 > most {
		faults = append(faults, Fault{Criterion: Late, Text: sentence(
			"99 %% of the packets start up to %v later than the limiter's instant, want at most %v: it is %v with an ideal limiter on this machine now",
			of.LateP99, most, ideal.LateP99)})
	}
	return faults
}

// pacer is a source in real time. It asks the limiter, waits for the instant of the answer, asks
// again for that instant, and sends. So lateness does not add up.
type pacer struct {
	clock func() time.Duration // nil: the machine's clock
	sleep func(time.Duration)
	send  func() error
	naps  bool // it waits only by sleep
	apart bool // its clock is stopped in calls of the limiter
}

// spins is how long before an instant a pacer ends its sleep: a sleep ends up to a millisecond
// late.
const spins = 2 * time.Millisecond

// run lets the source send for the time of the case.
func (p *pacer) run(ctx context.Context, new New, c *Case, each func(Start)) (*meter, Starts, error) {
	n := c.Longest()
	m := newMeter(new(c.Line), c.Line, n)
	m.each = each
	m.SetRate(0, c.Rates[0].Rate)
	packets := int(c.Through(0, unit.Time(c.Duration))/float64(n)) + 1000
	w := &watch{epoch: time.Now(), clock: p.clock, apart: p.apart,
		calls: make([]time.Duration, 0, packets), starts: make([]departure, 0, packets)}
	m.wall = w
	over := unit.Time(0) // end of the case for the limiter
	missing := 0         // packets that did not start before the end
	for asked := unit.Time(0); ctx.Err() == nil; {
		t := m.Next(asked, n)
		for ; t > asked && t < unit.Time(c.Duration); t = m.Next(asked, n) {
			p.until(w, wallOf(t))
			asked = t
		}
		if t > asked {
			over = unit.Time(c.Duration)
			break
		}
		if w.now() >= wallOf(unit.Time(c.Duration)) || m.broken {
			missing = int(c.Through(asked, unit.Time(c.Duration)) / float64(n))
			break
		}
		if err := p.send(); err != nil {
			return nil, Starts{}, fmt.Errorf("case %s: %w", c.Name, err)
		}
		m.Sent(asked, n)
	}
	m.ends(max(m.now, over)) // a question that came too late is not its fault
	return m, w.kept(missing), nil
}

// until waits for an instant.
func (p *pacer) until(w *watch, at time.Duration) {
	for left := at - w.now(); left > 0; left = at - w.now() {
		switch {
		case p.naps:
			p.sleep(left)
		case left > 2*spins:
			p.sleep(left - spins)
		}
	}
}
