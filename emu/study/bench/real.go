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

// RealCases returns the cases in real time at a dilation of 1: always a packet of 1500 B, and a rate
// that stays. No fabric is there: a source asks the limiter, waits, and hands a datagram to the
// kernel.
func RealCases() []Case {
	var all []Case
	for _, r := range []unit.Rate{100 * mbps, 300 * mbps, gbps} {
		all = append(all, Case{
			Name: "real/" + word(r), Doc: "a rate that stays, and always a packet, at a dilation of 1",
			Line: 10 * gbps, Duration: 100 * unit.Millisecond, Rates: []Step{{0, r}},
		})
	}
	return all
}

// Real is what is measured in real time, each in turns with the others. What else goes on on the
// computer makes all of it worse and none better: each has its best turn, that in which starts
// were the least late.
type Real struct {
	Ideal   Starts  // of an ideal limiter, one that keeps a delay between packets
	Limiter Starts  // of the limiter
	Sleep   Starts  // of the ideal one, whose source waits by time.Sleep
	Apart   *Starts // of a limiter in another program, on a clock that stands still in each call to it; nil: it is in this one
}

// Starts is how a source kept to real time.
type Starts struct {
	Gap               float64       // from start to start, over what it is at the rate: the mean of the middle half; 0: there were too few
	Shortest, Longest float64       // the same, 1 % and 99 % of all
	Late, LateP99     time.Duration // by how much later than the limiter gave a packet was handed to the kernel: half and 99 % of all
	Calls, CallsP99   time.Duration // how long the calls for a packet took
	Packets           int
}

// A right limiter is off from an ideal one by no more than this, and an ideal one from its rate on
// a computer on which a limiter can be judged.
const (
	mostRealGap  = 0.05
	mostRealLate = 20 * time.Microsecond // of 99 % of the starts
)

// MeasureReal puts a limiter into a case in real time. Apart says that it is in another program: it is
// then judged by what it does on a clock that stands still while it is called, so that the way to
// it is not held against it.
func MeasureReal(ctx context.Context, new New, c Case, apart bool, each func(Start)) (*Report, error) {
	a, b, err := link.UDPPair(link.UDPOptions{})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	defer b.Close()
	defer host.HoldGC()()
	defer host.RaisePriority()()
	packet := make([]byte, c.longest()-overhead())
	p := func() *pacer {
		return &pacer{sleep: time.Sleep, send: func() error {
			err := a.Send(packet)
			if link.IsICMP(err) || errors.Is(err, link.ErrFull) { // nobody reads: the kernel drops what it has no room for
				return nil
			}
			return err
		}}
	}
	return measureReal(ctx, new, &c, apart, each, p)
}

// measureReal measures in turns, each with a new pacer.
func measureReal(ctx context.Context, new New, c *Case, apart bool, each func(Start), pacers func() *pacer) (*Report, error) {
	ideal := func(line unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(line) }
	turns := []struct {
		new         New
		naps, apart bool
		of          []Starts
	}{{new: ideal}, {new: new}, {new: ideal, naps: true}}
	if apart {
		turns = append(turns, turns[1])
		turns[3].apart = true
	}
	var r *Report
	var real *Real
	for round := 0; round < wallTurns || round < mostTurns && (!real.Judged() || len(real.faults()) > 0); round++ {
		for k := range turns {
			who := (round + k) % len(turns) // none has always run behind the same one
			t := &turns[who]
			p := pacers()
			p.naps, p.apart = t.naps, t.apart
			seen := each
			if who != 1 {
				seen = nil
			}
			m, starts, err := p.run(ctx, t.new, c, seen)
			if err != nil {
				return nil, err
			}
			t.of = append(t.of, starts)
			switch {
			case who != 1:
			case r == nil:
				r = m.report()
			default:
				r.merge(m.report())
			}
		}
		real = &Real{Ideal: best(turns[0].of), Limiter: best(turns[1].of), Sleep: best(turns[2].of)}
		if apart {
			starts := best(turns[3].of)
			real.Apart = &starts
		}
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

// judged are the starts by which the limiter is judged.
func (r *Real) judged() *Starts {
	if r.Apart != nil {
		return r.Apart
	}
	return &r.Limiter
}

// Judged reports whether the computer had the time for a judgement: an ideal limiter has kept to
// its rate, and was in time.
func (r *Real) Judged() bool {
	return math.Abs(r.Ideal.Gap-1) <= mostRealGap && r.Ideal.LateP99 <= mostRealLate
}

// faults judges the limiter by the ideal one.
func (r *Real) faults() (faults []Fault) {
	if !r.Judged() {
		return nil
	}
	of, ideal := r.judged(), &r.Ideal
	if math.Abs(of.Gap/ideal.Gap-1) > mostRealGap {
		faults = append(faults, Fault{Criterion: RealTime, Text: fmt.Sprintf(
			"in real time packets start %.3g times as far apart as at the rate, want no more than %v %% off the %.3g of an ideal limiter on this computer now",
			of.Gap, 100*mostRealGap, ideal.Gap)})
	}
	if most := ideal.LateP99 + mostRealLate; of.LateP99 > most {
		faults = append(faults, Fault{Criterion: Late, Text: fmt.Sprintf(
			"99 %% of the packets start up to %v later than the limiter gave, want %v at most: it is %v with an ideal limiter on this computer now",
			of.LateP99, most, ideal.LateP99)})
	}
	return faults
}

// pacer is a source in real time. It asks a limiter as of the instant that it gave, waits until
// that has come, and sends; so lateness does not add up.
type pacer struct {
	clock func() time.Duration // nil: that of the computer
	sleep func(time.Duration)
	send  func() error
	naps  bool // it waits by sleep alone
	apart bool // its clock stands still in calls of the limiter
}

// spins is how long before an instant a pacer wakes up that sleeps meanwhile: a sleep ends up
// to a millisecond late.
const spins = 2 * time.Millisecond

// run lets the source send for the time of the case.
func (p *pacer) run(ctx context.Context, new New, c *Case, each func(Start)) (*meter, Starts, error) {
	n := c.longest()
	m := newMeter(new(c.Line), c.Line, n)
	m.each = each
	m.SetRate(0, c.Rates[0].Rate)
	packets := int(c.Through(0, unit.Time(c.Duration))/float64(n)) + 1000
	w := &watch{epoch: time.Now(), clock: p.clock, apart: p.apart,
		calls: make([]time.Duration, 0, packets), starts: make([]departure, 0, packets)}
	m.wall = w
	over := unit.Time(0) // when the case ends for the limiter
	missing := 0         // packets that time was over for
	for told := unit.Time(0); ctx.Err() == nil; {
		t := m.Next(told, n)
		for ; t > told && t < unit.Time(c.Duration); t = m.Next(told, n) {
			p.until(w, wallOf(t))
			told = t
		}
		if t > told {
			over = unit.Time(c.Duration)
			break
		}
		if w.now() >= wallOf(unit.Time(c.Duration)) || m.broken {
			missing = int(c.Through(told, unit.Time(c.Duration)) / float64(n))
			break
		}
		if err := p.send(); err != nil {
			return nil, Starts{}, fmt.Errorf("case %s: %w", c.Name, err)
		}
		m.Sent(told, n)
	}
	m.ends(max(m.now, over)) // what it was not asked in time is not its fault
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

// wallOf is the first nanosecond that is not before an instant.
func wallOf(t unit.Time) time.Duration { return time.Duration((int64(t) + 999) / 1000) }

// kept returns how the starts kept to real time. Those that are missing are as late as they would be
// now.
func (w *watch) kept(missing int) Starts {
	s := Starts{Packets: len(w.starts), Gap: w.gap(1)}
	late := make([]time.Duration, len(w.starts))
	for i, d := range w.starts {
		late[i] = d.wall - wallOf(d.at)
	}
	if n := len(w.starts); n > 0 {
		last := wallOf(w.starts[n-1].at)
		late = append(late, slices.Repeat([]time.Duration{w.now() - last}, missing)...)
	}
	s.Late, s.LateP99 = quantile(late, 0.5), quantile(late, 0.99)
	s.Calls, s.CallsP99 = quantile(w.calls, 0.5), quantile(w.calls, 0.99)
	gaps := w.gaps(1)
	s.Shortest, s.Longest = quantile(gaps, 0.01), quantile(gaps, 0.99)
	return s
}
