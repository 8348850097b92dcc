package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"fabemu/node"
	"fabemu/wire/unit"
)

// desk is a machine on which time passes as it is told to.
type desk struct {
	now            time.Duration
	reading, write time.Duration // what it takes to read the clock, and to hand over a packet
	nap            time.Duration // by how much a sleep is too long
}

func (d *desk) pacer() *pacer {
	return &pacer{
		clock: func() time.Duration { d.now += d.reading; return d.now },
		sleep: func(t time.Duration) { d.now += t + d.nap },
		send:  func() error { d.now += d.write; return nil },
	}
}

// quiet is a machine as they are: a sleep is 60 µs too long, a packet takes 3 µs.
func quiet() *desk {
	return &desk{reading: 50 * time.Nanosecond, write: 3 * time.Microsecond, nap: 60 * time.Microsecond}
}

// remote is a limiter that is far away.
type remote struct {
	node.RateLimiter
	d   *desk
	way time.Duration
}

func (l *remote) Next(now unit.Time, n unit.Size) unit.Time {
	l.d.now += l.way
	return l.RateLimiter.Next(now, n)
}

func (l *remote) Sent(now unit.Time, n unit.Size) {
	l.d.now += l.way
	l.RateLimiter.Sent(now, n)
}

// slower lets through less than its rate.
type slower struct{ *node.InterPacketDelay }

func (l slower) SetRate(now unit.Time, r unit.Rate) { l.InterPacketDelay.SetRate(now, r*9/10) }

// A busy machine is not blamed on a limiter, and what was measured is kept.
func TestRealOnABusyComputer(t *testing.T) {
	c := RealCases()[1]
	r, err := measureReal(context.Background(), func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 3000) }, &c, false, nil,
		func() *pacer { d := quiet(); d.write = 15 * time.Microsecond; return d.pacer() })
	if err != nil {
		t.Fatal(err)
	}
	if r.Real.Judged() || r.Faults != nil || r.Real.Ideal.Gap < 1.2 || r.Real.Limiter.Packets < 1000 {
		t.Errorf("judged: %v, %v, %+v", r.Real.Judged(), r.Faults, r.Real)
	}
	// What a machine has not come to any more, since it did something else at the end, is late as
	// well.
	var d *desk
	sent := 0
	ideal := func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) }
	r, err = measureReal(context.Background(), ideal, &c, false, nil, func() *pacer {
		d, sent = quiet(), 0
		p := d.pacer()
		p.send = func() error {
			if sent++; sent == 1000 {
				d.now += time.Second
			}
			return nil
		}
		return p
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := r.Real.Ideal; i.Packets != 1000 || i.LateP99 < time.Second || r.Real.Judged() {
		t.Errorf("%+v", i)
	}
}

// On a machine that is told what time is, right limiters keep to their rate and are in time, and
// wrong ones are found; how far away a limiter is, is told apart from what it does.
func TestReal(t *testing.T) {
	delay := func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) }
	bucket := func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 3000) }
	for _, tc := range []struct {
		name   string
		new    func(*desk) New
		apart  bool
		faults []Criterion
		gap    [2]float64 // of the limiter, at 1 Gb/s
		late   [2]time.Duration
	}{
		{"a delay", func(*desk) New { return delay }, false, nil, [2]float64{0.95, 1.05}, [2]time.Duration{time.Microsecond, 20 * time.Microsecond}},
		{"a bucket", func(*desk) New { return bucket }, false, nil, [2]float64{0.95, 1.05}, [2]time.Duration{time.Microsecond, 20 * time.Microsecond}},
		{"too slow", func(*desk) New {
			return func(r unit.Rate) node.RateLimiter { return slower{node.NewInterPacketDelay(r)} }
		}, false, []Criterion{Withheld, RateError}, [2]float64{0.95, 1.05}, [2]time.Duration{time.Microsecond, 20 * time.Microsecond}},
		{"one that waits", func(d *desk) New {
			return func(r unit.Rate) node.RateLimiter {
				return &remote{node.NewInterPacketDelay(r), d, 60 * time.Microsecond}
			}
		}, false, []Criterion{RealTime, Late}, [2]float64{14, 17}, [2]time.Duration{10 * time.Millisecond, 100 * time.Millisecond}},
		{"in another program", func(d *desk) New {
			return func(r unit.Rate) node.RateLimiter {
				return &remote{node.NewTokenBucket(r, 3000), d, 60 * time.Microsecond}
			}
		}, true, nil, [2]float64{14, 17}, [2]time.Duration{10 * time.Millisecond, 100 * time.Millisecond}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := RealCases()[1]
			var d *desk
			r, err := measureReal(context.Background(), func(line unit.Rate) node.RateLimiter { return tc.new(d)(line) }, &c, tc.apart, nil,
				func() *pacer { d = quiet(); return d.pacer() })
			if err != nil {
				t.Fatal(err)
			}
			var found []Criterion
			for _, f := range r.Faults {
				if f.Criterion == RealTime || f.Criterion == Late || !slices.Contains(tc.faults, RealTime) {
					found = append(found, f.Criterion)
				}
			}
			if !slices.Equal(found, tc.faults) {
				t.Errorf("found %v, want %v: %v", found, tc.faults, r.Faults)
			}
			l, ideal, nap := r.Real.Limiter, r.Real.Ideal, r.Real.Sleep
			if l.Gap < tc.gap[0] || l.Gap > tc.gap[1] || l.LateP99 < tc.late[0] || l.LateP99 > tc.late[1] {
				t.Errorf("the limiter has %+v", l)
			}
			if ideal.Gap < 0.99 || ideal.Gap > 1.01 || ideal.LateP99 > 20*time.Microsecond || ideal.Calls > time.Microsecond {
				t.Errorf("an ideal limiter has %+v", ideal)
			}
			if nap.Late < 20*time.Microsecond || nap.Shortest > 0.5 { // it wakes up late, and then makes up for it
				t.Errorf("with time.Sleep it has %+v", nap)
			}
			if tc.apart {
				if a := r.Real.Apart; a.Gap < 0.95 || a.Gap > 1.05 || a.LateP99 > 20*time.Microsecond || a.Calls < 150*time.Microsecond {
					t.Errorf("on the stopped clock it has %+v", a)
				}
			} else if r.Real.Apart != nil {
				t.Error("a limiter in this program has a stopped clock")
			}
		})
	}
}

// ticks is a bucket that is looked at each 10 µs.
type ticks struct{ *node.TokenBucket }

func (l ticks) Next(now unit.Time, n unit.Size) unit.Time {
	const tick = unit.Time(10 * unit.Microsecond)
	t := l.TokenBucket.Next(now, n)
	if t > now && t < unit.Never-tick {
		t = (t + tick - 1) / tick * tick
	}
	return t
}

// A limiter may begin with a burst, and need not have all gaps equal.
func TestRealWithTicks(t *testing.T) {
	for _, c := range RealCases() {
		r, err := measureReal(context.Background(), func(r unit.Rate) node.RateLimiter { return ticks{node.NewTokenBucket(r, 40_000)} }, &c, false, nil,
			func() *pacer { return quiet().pacer() })
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Real.Limiter; len(r.Real.faults()) > 0 || l.Gap < 0.99 || l.Gap > 1.01 || l.LateP99 > 20*time.Microsecond {
			t.Errorf("%s: %v, %+v", c.Name, r.Real.faults(), l)
		}
	}
}
