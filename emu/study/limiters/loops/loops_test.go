package loops_test

import (
	"context"
	"slices"
	"testing"

	"fabemu/emu/study/limiters/bench"
	"fabemu/emu/study/limiters/loops"
	"fabemu/node/rp"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// named returns a loop.
func named(t *testing.T, name string) loops.Loop {
	t.Helper()
	all := loops.All()
	i := slices.IndexFunc(all, func(l loops.Loop) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("there is no loop %s", name)
	}
	return all[i]
}

// measure puts reaction points into a loop.
func measure(t *testing.T, name string, new func(rp.Site) rp.Reaction, points func(cp.Site) (cp.Notifier, error)) *loops.Report {
	t.Helper()
	s, err := loops.Of(new, points)
	if err != nil {
		t.Fatal(err)
	}
	r, err := named(t, name).Measure(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r, r.Faults)
	return r
}

// teller tells the source of each tenth packet of a long queue.
type teller struct {
	site    cp.Site
	n, told *int
}

func (p *teller) Enqueue(_ unit.Time, f *wire.Frame, q cp.Queue) (wire.Frame, bool) {
	if q.Bytes < 15*unit.KB {
		return wire.Frame{}, false
	}
	if *p.n++; *p.n%10 != 0 {
		return wire.Frame{}, false
	}
	*p.told++
	return wire.Frame{Kind: wire.Message, Lane: f.Lane, Src: p.site.Address, Dst: f.Src, QP: f.QP}, true
}
func (*teller) Dequeue(unit.Time, *wire.Frame, cp.Queue) {}
func (p *teller) Reset()                                 {}

// patient halves its rate with each message, and raises it every 100 µs.
type patient struct {
	rate, line unit.Rate
	due        unit.Time
	deaf       bool
	late       *unit.Duration // how late Advance was called at most
}

func (p *patient) Rate() unit.Rate         { return p.rate }
func (p *patient) Deadline() unit.Time     { return p.due }
func (*patient) Sent(unit.Time, unit.Size) {}
func (p *patient) Advance(now unit.Time) {
	if now < p.due {
		return
	}
	if p.late != nil {
		*p.late = max(*p.late, now.Sub(p.due))
	}
	p.due, p.rate = now.Add(100*unit.Microsecond), min(p.rate+p.line/200, p.line)
}
func (p *patient) Feedback(unit.Time, wire.Frame) {
	if !p.deaf {
		p.rate = max(p.rate/2, p.line/256)
	}
}

// Reaction points that take messages of the caller's congestion points are in a fabric of Ethernet.
// The faults hit these messages: of three two are lost, or each comes twice. One that hears nothing
// is found.
func TestNotificationsOfTheCaller(t *testing.T) {
	for _, x := range []struct {
		loop      string
		deaf      bool
		low, high float64 // messages that come, of one that is sent
		criterion bench.Criterion
	}{
		{"loop/half", false, 1, 1, ""},
		{"loop/storm", false, 1, 1, ""},
		{"loop/lost", false, 0.2, 0.5, ""}, // 0.34 of some hundred
		{"loop/repeated", false, 1.95, 2, ""},
		{"loop/half", true, 1, 1, bench.Overshoot},
	} {
		sent, told := 0, 0
		r := measure(t, x.loop, func(s rp.Site) rp.Reaction {
			return rp.Reaction{Controller: &patient{rate: s.Line, line: s.Line, due: unit.Time(100 * unit.Microsecond), deaf: x.deaf}}
		}, func(s cp.Site) (cp.Notifier, error) {
			told = 0
			return &teller{site: s, n: &sent, told: &told}, nil
		})
		if share := float64(r.Feedback) / float64(told); told < 10 || share < x.low || share > x.high {
			t.Errorf("%s: of %d messages %d come, want %v to %v of them", x.loop, told, r.Feedback, x.low, x.high)
		}
		if x.criterion == "" && r.Faults != nil || x.criterion != "" && (len(r.Faults) != 1 || r.Faults[0].Criterion != x.criterion) {
			t.Errorf("%s: the faults are %v, want %q", x.loop, r.Faults, x.criterion)
		}
	}
}

// In loop/late deadlines are served up to 10 ms late, in the others when they come.
func TestLate(t *testing.T) {
	for name, want := range map[string][2]unit.Duration{"loop/storm": {0, 0}, "loop/late": {9 * unit.Millisecond, 10 * unit.Millisecond}} {
		var late unit.Duration
		measure(t, name, func(s rp.Site) rp.Reaction {
			return rp.Reaction{Controller: &patient{rate: s.Line, line: s.Line, due: unit.Time(100 * unit.Microsecond), late: &late}}
		}, nil)
		if late < want[0] || late > want[1] {
			t.Errorf("%s: Advance is called up to %v late, want %v to %v", name, late, want[0], want[1])
		}
	}
}
