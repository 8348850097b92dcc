package rp

import (
	"math"
	"strings"
	"testing"

	"fabemu/wire"
	"fabemu/wire/param"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// "The proposal" is "Source-based E2CM: Validation of the Orlando Proposal" by Minkenberg and
// Gusat, IBM, March 22, 2007. Its pages have no numbers; they are named by their titles.

const usec = unit.Time(unit.Microsecond)

var e2cmSite = Site{Line: 10 * gbps, Length: 1500}

func newE2CMWith(t *testing.T, change func(p *E2CMParams)) *E2CM {
	t.Helper()
	p := param.Defaults(E2CMParams{})
	p.Jitter = 0
	if change != nil {
		change(&p)
	}
	s := e2cmSite
	s.Random = unit.NewRandom(1, 1)
	e, err := NewE2CM(p, s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// limit has a congestion point limit the flow to 2.5 Gb/s: half of the initial rate.
func (e *E2CM) limit(now unit.Time) {
	e.Feedback(now, told(7, -75000/64, 2*75000/64))
}

// probe returns the probe that leaves now.
func (e *E2CM) probe(t *testing.T, now unit.Time) wire.Frame {
	t.Helper()
	f, ok := e.Send(now)
	if !ok {
		t.Fatalf("%v: no probe leaves", now)
	}
	if again, ok := e.Send(now); ok {
		t.Fatalf("%v: another leaves at once: %+v", now, again)
	}
	return f
}

// answer has a probe come to the destination and its answer come back, if it is wanted, and
// returns why not.
func (e *E2CM) back(now unit.Time, f wire.Frame, came unit.Time) trace.Reason {
	f.Flags, f.Probe().CameAt = f.Flags|wire.ProbeAnswer, came
	why := e.Refuses(now, f)
	if why == trace.NoReason {
		e.Feedback(now, f)
	}
	return why
}

// "SRC measures throughput in between probes. Generally this equals the configured mean probe
// interval (e.g. 75 KB). May vary due to imposed interval jitter and max-interval time limit
// (e.g. 10 ms). Byte count B(Pn) is included in probe Pn" (Modification addressing Concern #1),
// "SRC includes time stamp Tsrc(Pn) in probe Pn" (Modification addressing Concern #2). A flow
// that is not limited has no probes.
func TestE2CMProbes(t *testing.T) {
	e := newE2CMWith(t, nil)
	e.Sent(0, 1<<20)
	if _, ok := e.Send(0); ok || e.Deadline() != unit.Never {
		t.Error("a flow that is not limited is probed")
	}
	e.limit(usec)
	first := e.probe(t, usec)
	if want := (wire.Frame{Kind: wire.Probe, Extension: wire.ExtensionOf(wire.ProbeExtension{SentAt: usec})}); first != want {
		t.Errorf("the first probe is %+v, want %+v", first, want)
	}
	for range 49 {
		e.Sent(2*usec, 1500)
	}
	if _, ok := e.Send(2 * usec); ok {
		t.Error("a probe leaves behind 73.5 KB")
	}
	e.Sent(3*usec, 1500)
	if got, want := e.probe(t, 3*usec), (wire.Frame{Kind: wire.Probe, PSN: 1, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 75000, SentAt: 3 * usec})}); got != want {
		t.Errorf("the second probe is %+v, want %+v", got, want)
	}
	e.Sent(4*usec, 1500)
	late := 3*usec + 10000*usec
	if e.Deadline() != late {
		t.Errorf("the next is due at %v, want %v", e.Deadline(), late)
	}
	if _, ok := e.Send(late - 1); ok {
		t.Error("a probe leaves within 10 ms")
	}
	if got, want := e.probe(t, late), (wire.Frame{Kind: wire.Probe, PSN: 2, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: 1500, SentAt: late})}); got != want {
		t.Errorf("the third probe is %+v, want %+v", got, want)
	}
}

// "May vary due to imposed interval jitter": by 15 per cent up or down, 75 KB on average.
func TestE2CMJitter(t *testing.T) {
	e := newE2CMWith(t, func(p *E2CMParams) { p.Jitter = 15 })
	e.limit(0)
	e.probe(t, 0)
	low, high, sum := 1e9, 0.0, 0.0
	const n = 2000
	for range n {
		due := float64(e.due)
		low, high, sum = min(low, due), max(high, due), sum+due
		e.Sent(0, e.due)
		e.probe(t, 0)
	}
	if low < 75000*0.85 || low > 64500 || high > 75000*1.15 || high < 85500 || math.Abs(sum/n-75000) > 500 {
		t.Errorf("from %v to %v, in the mean %v", low, high, sum/n)
	}
}

// "SRC computes throughput as follows: B(Pn) / (Tdst(Pn) - Tdst(Pn-1)). Clock synchro is not
// an issue: both time stamps are recorded at DST"; "Upon return, SRC computes round-trip
// latency L(Pn) = now - Tsrc(Pn). SRC keeps track of minimum round-trip latency L0. SRC
// computes effective forward latency as L(Pn) - L0".
func TestE2CMQueueOfAFlow(t *testing.T) {
	const skew = unit.Time(1e15) // of the clock of the destination
	e := newE2CMWith(t, nil)
	e.limit(0)
	p0 := e.probe(t, 0)
	if why := e.back(10*usec, p0, skew+5*usec); why != trace.NoReason || e.measured {
		t.Errorf("one answer: %v, and a queue of %v", why, e.queue)
	}
	e.Sent(100*usec, 75000)
	p1 := e.probe(t, 100*usec)
	e.back(210*usec, p1, skew+305*usec) // 75 KB in 300 µs, 100 µs longer than the shortest
	if want := 75000.0 / 300 * 100; math.Abs(e.queue-want) > 1e-6 || !e.measured {
		t.Errorf("the queue of the flow is %v, want %v", e.queue, want)
	}
	e.Sent(300*usec, 75000)
	p2 := e.probe(t, 300*usec)
	e.back(308*usec, p2, skew+605*usec) // shorter than any before: nothing waits
	if e.queue != 0 || e.least != 8*unit.Microsecond {
		t.Errorf("the queue is %v with a latency of %v", e.queue, e.least)
	}
}

// The per-flow algorithm has the form of ECM: Fb = (Qeq - q) - W dq, "W = 2.0, Qeq = 15 KB,
// BCN_MAX enabled, threshold = 56 KB" (Simulation Setup & Parameters: E2CM (per-flow)).
func TestE2CMFeedback(t *testing.T) {
	for _, c := range []struct{ old, queue, want float64 }{
		{15000, 15000, 0},
		{10000, 10000, 5000},
		{10000, 20000, -5000 - 2*10000},
		{20000, 10000, 5000 + 2*10000},
		{0, 40000, -15000 - 2*30000}, // both bounds
		{40000, 0, 15000 + 2*30000},
		{56000, 56000, -15000},
		{56001, 56001, -75000}, // BCN_MAX
	} {
		e := newE2CMWith(t, nil)
		e.measured, e.queue = true, c.old
		if got := e.flowFeedback(c.queue); got != c.want {
			t.Errorf("from %v to %v: Fb is %v, want %v", c.old, c.queue, got, c.want)
		}
	}
	e := newE2CMWith(t, func(p *E2CMParams) { p.FlowMost = 0 })
	if got := e.flowFeedback(1e6); got != -15000 {
		t.Errorf("without a maximum, the first: Fb is %v, want -15000", got)
	}
}

// "Gd = 2.5 / ((2*W+1)*Qeq), Gi = 0.025 * Gi0" with Gi0 = (Rlink/Runit)/((2*W+1)*Qeq). Qeq is
// that of ECM, 75 KB: half of the rate down and 50 Mb/s up at most, the steps of ECM
// ("Gd = 0.5 / ((2*W+1)*Qeq), Gi = 0.005 * Gi0"). Read as it is printed below "E2CM", with
// 15 KB: 2.5 times the rate, which leaves "Rmin = 1 Mb/s", and 250 Mb/s.
func TestE2CMGains(t *testing.T) {
	for _, c := range []struct {
		gains string
		down  unit.Rate
		up    unit.Rate
	}{
		{GainsOfECM, 1250 * mbps, 2550 * mbps},
		{GainsOfFlow, mbps, 2750 * mbps},
	} {
		for _, up := range []bool{false, true} {
			e := newE2CMWith(t, func(p *E2CMParams) { p.FlowGains = c.gains })
			e.limit(0)
			e.rate = 2500 * mbps
			if up {
				e.raise(e.p.step(75000))
			} else {
				e.lower(e.p.share(-75000))
			}
			if want := map[bool]unit.Rate{false: c.down, true: c.up}[up]; e.Rate() < want-1 || e.Rate() > want {
				t.Errorf("gains of %s: the rate is %v, want %v", c.gains, e.Rate(), want)
			}
		}
	}
}

// Both inputs are on one limiter: a probe that finds nothing in the fabric raises the rate
// that a message has lowered, up to that of the link, and then the limiter has gone.
func TestE2CMOneLimiter(t *testing.T) {
	e := newE2CMWith(t, nil)
	e.limit(0)
	now := unit.Time(0)
	e.back(now+10*usec, e.probe(t, now), now+5*usec)
	for n := 1; e.Active(); n++ {
		if n > 1000 {
			t.Fatalf("after %d probes the rate is %v", n, e.Rate())
		}
		before := e.Rate()
		e.Sent(now, 75000)
		now = now.Add(unit.Duration(100 * usec))
		e.back(now+10*usec, e.probe(t, now), now+5*usec)
		if step := e.Rate() - before; e.Active() && step != 10*mbps { // Fb is Qeq: a fifth of the most
			t.Fatalf("probe %d adds %v, want 10 Mb/s", n, step)
		}
	}
	if _, ok := e.Send(now); ok || e.Deadline() != unit.Never || e.Rate() != 10*gbps {
		t.Errorf("without a limiter there are probes still, at %v", e.Rate())
	}
}

// "Potential demerits: ... Less robust to lost/corrupted probes" of the source-based kind: a
// lost probe costs the answer behind it, too, since B(Pn) and Tdst(Pn-1) do not meet. Where
// the destination counts, the next answer makes up for it.
func TestE2CMLostProbe(t *testing.T) {
	for _, by := range []string{"source", AtDestination} {
		e := newE2CMWith(t, func(p *E2CMParams) { p.Accounting = by })
		e.limit(0)
		r := newReflector(e.p, Site{})
		turn := func(at unit.Time, lost bool) {
			e.Sent(at, 75000)
			r.Receive(at, wire.Frame{Kind: wire.Data, Payload: 75000})
			f := e.probe(t, at)
			if lost {
				return
			}
			r.Receive(at+20*usec, f)
			a, _ := r.Send(at)
			if why := e.Refuses(at+30*usec, a); why != trace.NoReason {
				t.Fatalf("by the %s: refused for %v", by, why)
			}
			e.Feedback(at+30*usec, a)
		}
		turn(0, false)
		turn(300*usec, false)
		before := e.Rate()
		e.least -= unit.Duration(10 * usec)
		turn(600*usec, true)
		turn(900*usec, false)
		if changed := e.Rate() != before; changed != (by == AtDestination) {
			t.Errorf("by the %s: the answer behind a lost probe changes the rate: %v", by, changed)
		}
		turn(1200*usec, false)
		if want := 75000. / 300 * 10; math.Abs(e.queue-want) > 1e-6 {
			t.Errorf("by the %s: the queue is %v, want %v", by, e.queue, want)
		}
	}
}

// "Destination (DST)-based per-flow RX rate calculation (throughput accounting)", "Global clock
// synchronization required for forward latency measurement" (Some Concerns): the destination
// counts what comes, and the latency is that of the probe alone.
func TestE2CMDestinationBased(t *testing.T) {
	e := newE2CMWith(t, func(p *E2CMParams) { p.Accounting = AtDestination })
	r := newReflector(e.p, Site{})
	e.limit(0)
	for i, c := range []struct {
		bytes     uint32
		came, now unit.Time
	}{{5000, 20 * usec, 30 * usec}, {9000, 180 * usec, 990 * usec}} {
		at := unit.Time(i) * 100 * usec
		e.Sent(at, 75000)
		f := e.probe(t, at)
		r.Receive(c.came, wire.Frame{Kind: wire.Data, Payload: c.bytes})
		r.Receive(c.came, f)
		a, ok := r.Send(c.came)
		if _, more := r.Send(c.came); !ok || more || a.Lane != 7 || a.Flags != wire.ProbeAnswer|wire.ProbeCounted {
			t.Fatalf("the answer is %+v, and there is another: %v", a, more)
		}
		if why := e.Refuses(c.now, a); why != trace.NoReason {
			t.Fatal(why)
		}
		e.Feedback(c.now, a)
	}
	if want := 9000. / 160 * 60; math.Abs(e.queue-want) > 1e-6 { // 80 µs on the path, at least 20
		t.Errorf("the queue is %v, want %v", e.queue, want)
	}
}

// "Expedite probes on reverse path. Use top priority traffic class": the answer has it, and
// the probe waits in the queues of its flow, which it measures.
func TestE2CMPriorities(t *testing.T) {
	for _, c := range []struct {
		expedite      string
		probe, answer uint8
	}{{"answers", 0, 7}, {ProbesAndAnswers, 7, 7}} {
		e := newE2CMWith(t, func(p *E2CMParams) { p.Expedite = c.expedite })
		e.limit(0)
		f := e.probe(t, 0)
		r := newReflector(e.p, Site{})
		r.Receive(0, f)
		a, _ := r.Send(0)
		probe, answer := e.p.Traits().Sends(&wire.Frame{Lane: 0})
		if f.Lane != c.probe || a.Lane != c.answer || probe.Lane != c.probe || answer.Lane != c.answer {
			t.Errorf("expedite: %s: priorities %d and %d, said to be %d and %d, want %d and %d", c.expedite, f.Lane, a.Lane, probe.Lane, answer.Lane, c.probe, c.answer)
		}
	}
}

// What is late, is received again, is of an earlier round, of the other direction or cannot be is
// refused, and the rate stays.
func TestE2CMRefuses(t *testing.T) {
	e := newE2CMWith(t, nil)
	e.limit(0)
	p0 := e.probe(t, 0)
	e.Sent(0, 75000)
	p1 := e.probe(t, 100*usec)
	e.Sent(0, 75000)
	p2 := e.probe(t, 200*usec)
	if why := e.back(210*usec, p1, 205*usec); why != trace.NoReason {
		t.Fatal(why)
	}
	changed := func(f wire.Frame, change func(f *wire.Frame)) wire.Frame { change(&f); return f }
	for name, f := range map[string]wire.Frame{
		"late":                     p0,
		"again":                    p1,
		"not sent":                 changed(p2, func(f *wire.Frame) { f.PSN = 3 }),
		"sent tomorrow":            changed(p2, func(f *wire.Frame) { f.Probe().SentAt = 1e15 }),
		"counted by someone":       changed(p2, func(f *wire.Frame) { f.Flags = wire.ProbeCounted }),
		"came before the last one": p2,
	} {
		came := 300 * usec
		if strings.HasPrefix(name, "came") {
			came = 205 * usec
		}
		if why := e.back(310*usec, f, came); why != trace.NotAwaited {
			t.Errorf("%s: %v", name, why)
		}
	}
	if why := e.Refuses(310*usec, p2); why != trace.NotAwaited {
		t.Errorf("a probe of the other direction: %v", why)
	}
	if why := newReflector(e.p, Site{}).Refuses(0, wire.Frame{Kind: wire.Probe, Flags: wire.ProbeAnswer}); why != trace.NotAwaited {
		t.Errorf("an answer to the destination: %v", why)
	}
	e.raise(20e9) // the round is over
	e.Advance(320 * usec)
	if why := e.back(330*usec, p2, 300*usec); why != trace.NotAwaited {
		t.Errorf("without a limiter: %v", why)
	}
	e.limit(340 * usec)
	rate := e.Rate()
	if why := e.back(350*usec, p2, 300*usec); why != trace.NotAwaited || e.Rate() != rate {
		t.Errorf("in the next round: %v, and the rate is %v of %v", why, e.Rate(), rate)
	}
	if why := e.back(360*usec, e.probe(t, 350*usec), 355*usec); why != trace.NoReason {
		t.Errorf("the first of the next round: %v", why)
	}
}

// For experiments probes can be lost: they are not answered.
func TestE2CMLosesProbes(t *testing.T) {
	p := param.Defaults(E2CMParams{})
	p.Lost = 30
	r := newReflector(p, Site{Random: unit.NewRandom(1, 1)})
	answers := 0
	for n := range uint32(1000) {
		r.Receive(0, wire.Frame{Kind: wire.Probe, PSN: n})
		if _, ok := r.Send(0); ok {
			answers++
			r.Send(0)
		}
	}
	if answers < 650 || answers > 750 {
		t.Errorf("%d of 1000 probes are answered with 30 %% lost", answers)
	}
}

func TestNewE2CMRefuses(t *testing.T) {
	for words, change := range map[string]func(p *E2CMParams, s *Site){
		"a probe follows every packet": func(p *E2CMParams, _ *Site) { p.Interval = 1000 },
		"nothing would be left":        func(p *E2CMParams, _ *Site) { p.Most = 100 * unit.Nanosecond },
		"must be above flow-qeq":       func(p *E2CMParams, _ *Site) { p.FlowMost = 15000 },
		"no probe lowers a rate":       func(p *E2CMParams, _ *Site) { p.FlowAlpha = 1e-10 },
		"no probe raises a rate":       func(p *E2CMParams, _ *Site) { p.FlowBeta = 1e-10 },
		"probe-jitter":                 func(p *E2CMParams, _ *Site) { p.Jitter = 100 },
		"probe-priority":               func(p *E2CMParams, _ *Site) { p.Priority = 8 },
		"lost-probes":                  func(p *E2CMParams, _ *Site) { p.Lost = 101 },
		"must be positive":             func(_ *E2CMParams, s *Site) { s.Line = 0 },
		"is above the highest, 10Gb/s": func(p *E2CMParams, _ *Site) { p.MinRate = 20 * gbps },
	} {
		p, s := param.Defaults(E2CMParams{}), e2cmSite
		s.Random = unit.NewRandom(1, 1)
		change(&p, &s)
		if _, err := NewE2CM(p, s); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %q", err, words)
		}
	}
}

// FuzzE2CM: no answers, however wrong, take the rate out of its range or stop the probes.
func FuzzE2CM(f *testing.F) {
	f.Add(uint32(1), uint64(75000), int64(100), int64(200), uint8(0x80), uint32(1500))
	f.Fuzz(func(t *testing.T, psn uint32, value uint64, sent, came int64, flags uint8, n uint32) {
		p := param.Defaults(E2CMParams{})
		if n%2 == 1 {
			p.Accounting = AtDestination
		}
		s := e2cmSite
		s.Random = unit.NewRandom(1, 1)
		e, err := NewE2CM(p, s)
		if err != nil {
			t.Fatal(err)
		}
		now := unit.Time(0)
		e.limit(now)
		e.Send(now)
		for i := range uint32(20) {
			now = now.Add(unit.Duration(50 * usec))
			e.Advance(now)
			a := wire.Frame{Kind: wire.Probe, PSN: (psn + i) % 32, Extension: wire.ExtensionOf(wire.ProbeExtension{Bytes: value, SentAt: max(0, unit.Time(sent)%(now+1)), CameAt: max(0, unit.Time(came)) + unit.Time(i)}), Flags: flags}
			if e.Refuses(now, a) == trace.NoReason {
				e.Feedback(now, a)
			}
			e.Sent(now, unit.Size(n%1_000_000))
			e.Send(now)
			if r := e.Rate(); r < p.MinRate || r > s.Line || e.Active() && e.Deadline() <= now {
				t.Fatalf("the rate is %v, and the next probe is due at %v of %v", r, e.Deadline(), now)
			}
		}
	})
}
