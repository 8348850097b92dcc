//go:build !race

package bench_test

import (
	"slices"
	"testing"

	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// keeper is a right limiter that keeps a delay between packets. The wrong ones below change
// one thing each.
type keeper struct {
	rate unit.Rate
	last unit.Time
	size unit.Size
}

func (l *keeper) Next(now unit.Time, _ unit.Size) unit.Time {
	if l.size == 0 {
		return now
	}
	return max(now, l.last.Add(l.rate.Serialise(l.size)))
}
func (l *keeper) Sent(now unit.Time, n unit.Size)  { l.last, l.size = now, n }
func (l *keeper) SetRate(_ unit.Time, r unit.Rate) { l.rate = r }

// forgetful loses the credit that it promises when there is nothing to send for a while.
type forgetful struct {
	node.TokenBucket
	last unit.Time
}

func (l *forgetful) Next(now unit.Time, n unit.Size) unit.Time {
	if now > l.last.Add(unit.Millisecond) {
		l.TokenBucket.Sent(now, 4500)
		l.last = now
	}
	return l.TokenBucket.Next(now, n)
}
func (l *forgetful) Sent(now unit.Time, n unit.Size) { l.TokenBucket.Sent(now, n); l.last = now }

// double counts a packet when it asks and when it starts.
type double struct{ keeper }

func (l *double) Sent(now unit.Time, n unit.Size) { l.keeper.Sent(now, 2*n) }

// nanoseconds rounds the delay down to whole nanoseconds.
type nanoseconds struct{ keeper }

func (l *nanoseconds) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if d := t.Sub(l.last); t > now && t != unit.Never {
		t = max(now, l.last.Add(d-d%unit.Nanosecond))
	}
	return t
}

// narrow reckons bits times nanoseconds in 64 bits.
type narrow struct {
	rate, level, last int64
}

func (l *narrow) fill(now unit.Time) {
	l.level = min(l.level+l.rate*(int64(now)/1000-l.last), 4500*8e9)
	l.last = int64(now) / 1000
}
func (l *narrow) Next(now unit.Time, n unit.Size) unit.Time {
	l.fill(now)
	short := int64(n)*8e9 - l.level
	switch {
	case short <= 0:
		return now
	case l.rate == 0:
		return unit.Never
	}
	return (now - now%1000).Add(unit.Duration(short/l.rate+1) * unit.Nanosecond)
}
func (l *narrow) Sent(now unit.Time, n unit.Size)    { l.fill(now); l.level -= int64(n) * 8e9 }
func (l *narrow) SetRate(now unit.Time, r unit.Rate) { l.fill(now); l.rate = int64(r) }
func (l *narrow) Burst() unit.Size                   { return 4500 }

// stubborn heeds a new rate with the next packet only.
type stubborn struct {
	keeper
	next unit.Time
}

func (l *stubborn) Next(now unit.Time, _ unit.Size) unit.Time { return max(now, l.next) }
func (l *stubborn) Sent(now unit.Time, n unit.Size)           { l.next = now.Add(l.rate.Serialise(n)) }

// hasty makes up at once for all that it missed while it was late.
type hasty struct {
	keeper
	next  unit.Time // on its schedule
	asked bool
}

func (l *hasty) Next(now unit.Time, n unit.Size) unit.Time {
	if !l.asked && now > l.next.Add(20*unit.Millisecond) { // it was idle
		l.next = now
	}
	l.asked = true
	return max(now, l.next)
}
func (l *hasty) Sent(_ unit.Time, n unit.Size) {
	l.next, l.asked = l.next.Add(l.rate.Serialise(n)), false
}

// milliseconds keeps time in whole milliseconds, as a timer does.
type milliseconds struct{ keeper }

func (l *milliseconds) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if t == now || t == unit.Never {
		return t
	}
	return (t + unit.Time(unit.Millisecond) - 1) / unit.Time(unit.Millisecond) * unit.Time(unit.Millisecond)
}

// hoarder has a bucket without a rim.
type hoarder struct{ node.TokenBucket }

func (l *hoarder) Burst() unit.Size { return 4500 }

// beheaded does not count the header.
type beheaded struct{ keeper }

func (l *beheaded) Sent(now unit.Time, n unit.Size) { l.keeper.Sent(now, max(1, n-18)) }

// dead stays stopped once its rate was 0.
type dead struct {
	keeper
	stopped bool
}

func (l *dead) SetRate(now unit.Time, r unit.Rate) {
	l.stopped = l.stopped || r == 0
	l.keeper.SetRate(now, r)
}
func (l *dead) Next(now unit.Time, n unit.Size) unit.Time {
	if l.stopped {
		return unit.Never
	}
	return l.keeper.Next(now, n)
}

// restarting begins its delay anew with each change of the rate.
type restarting struct{ keeper }

func (l *restarting) SetRate(now unit.Time, r unit.Rate) { l.last, l.rate = now, r }

// eager counts a packet when it is asked for.
type eager struct{ keeper }

func (l *eager) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	if t == now {
		l.keeper.Sent(now, n)
	}
	return t
}
func (l *eager) Sent(unit.Time, unit.Size) {}

// past gives instants that are over.
type past struct{ keeper }

func (l *past) Next(unit.Time, unit.Size) unit.Time {
	if l.size == 0 {
		return 0
	}
	return l.last.Add(l.rate.Serialise(l.size))
}

// dividing divides by the rate.
type dividing struct{ keeper }

func (l *dividing) Next(now unit.Time, n unit.Size) unit.Time {
	return max(now, l.last+unit.Time(int64(l.size)*8e9/int64(l.rate)*1000))
}

// putOff never lets a packet start.
type putOff struct{}

func (putOff) Next(now unit.Time, _ unit.Size) unit.Time { return now + 1 }
func (putOff) Sent(unit.Time, unit.Size)                 {}
func (putOff) SetRate(unit.Time, unit.Rate)              {}

// favouring returns limiters of which every other one is faster.
func favouring() bench.New {
	n := unit.Rate(0)
	return func(r unit.Rate) node.RateLimiter { n++; return &favoured{keeper{rate: r}, 1 + n%2} }
}

// favoured lets through its factor of the rate.
type favoured struct {
	keeper
	factor unit.Rate
}

func (l *favoured) SetRate(now unit.Time, r unit.Rate) { l.keeper.SetRate(now, l.factor*r) }

// Each of the wrong limiters is found, by the case that is there for it.
func TestFiguresOfWrongLimiters(t *testing.T) {
	bucket := func(r unit.Rate) node.TokenBucket { return *node.NewTokenBucket(r, 4500) }
	for _, tc := range []struct {
		name      string
		new       bench.New
		in        string // the case
		criterion bench.Criterion
	}{
		{"forgets credit across idle", func(r unit.Rate) node.RateLimiter { return &forgetful{TokenBucket: bucket(r)} }, "idle/then burst", bench.Credit},
		{"counts twice", func(r unit.Rate) node.RateLimiter { return &double{keeper{rate: r}} }, "steady/100Mbps", bench.RateError},
		{"drifts by rounding", func(r unit.Rate) node.RateLimiter { return &nanoseconds{keeper{rate: r}} }, "steady/9Gbps", bench.Burst},
		{"overflows", func(r unit.Rate) node.RateLimiter { return &narrow{rate: int64(r), level: 4500 * 8e9} }, "idle/longer and longer", bench.Withheld},
		{"ignores changes until the next packet", func(r unit.Rate) node.RateLimiter { return &stubborn{keeper: keeper{rate: r}} }, "step/up from almost nothing", bench.Reaction},
		{"bursts after a late wake-up", func(r unit.Rate) node.RateLimiter { return &hasty{keeper: keeper{rate: r}} }, "late/line", bench.Burst},
		{"whole milliseconds", func(r unit.Rate) node.RateLimiter { return &milliseconds{keeper{rate: r}} }, "steady/100Mbps", bench.RateError},
		{"unlimited burst", func(r unit.Rate) node.RateLimiter { return &hoarder{*node.NewTokenBucket(r, unit.GB)} }, "idle/then burst", bench.Burst},
		{"off by a header", func(r unit.Rate) node.RateLimiter { return &beheaded{keeper{rate: r}} }, "sizes/64", bench.RateError},
		{"never recovers", func(r unit.Rate) node.RateLimiter { return &dead{keeper: keeper{rate: r}} }, "rate/zero", bench.Reaction},
		{"starves under feedback", func(r unit.Rate) node.RateLimiter { return &restarting{keeper{rate: r}} }, "feedback/storm", bench.Withheld},
		{"counts what it is asked", func(r unit.Rate) node.RateLimiter { return &eager{keeper{rate: r}} }, "sizes/unknown", bench.RateError},
		{"gives the past", func(r unit.Rate) node.RateLimiter { return &past{keeper{rate: r}} }, "idle/then burst", bench.Contract},
		{"puts off", func(r unit.Rate) node.RateLimiter { return putOff{} }, "steady/1Mbps", bench.Contract},
		{"favours every other one", favouring(), "many/32", bench.Fairness},
		{"divides by zero", func(r unit.Rate) node.RateLimiter { return &dividing{keeper{rate: r}} }, "rate/zero", bench.Panic},
	} {
		t.Run(tc.name, func(t *testing.T) {
			i := slices.IndexFunc(bench.Cases(), func(c bench.Case) bool { return c.Name == tc.in })
			r := bench.Measure(tc.new, bench.Cases()[i], nil)
			t.Log(r.Faults)
			if !slices.ContainsFunc(r.Faults, func(f bench.Fault) bool { return f.Criterion == tc.criterion }) {
				t.Errorf("%s does not find it by its %s", tc.in, tc.criterion)
			}
		})
	}
}

// What the wrong limiters change one thing of is right.
func TestFiguresOfTheKeeper(t *testing.T) {
	for _, c := range bench.Cases() {
		if r := bench.Measure(func(r unit.Rate) node.RateLimiter { return &keeper{rate: r} }, c, nil); r.Faults != nil {
			t.Errorf("%s: %v", c.Name, r.Faults)
		}
	}
}
