package emu

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/measured"
	"fabemu/node"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// lateClock is a wall clock that shows events late, by up to most, with a pause from time to time.
type lateClock struct {
	random *unit.Random
	most   unit.Duration
	even   bool      // without pauses
	event  unit.Time // the last
	now    unit.Time
}

func (c *lateClock) Record(e *trace.Event) { c.event = e.At }

func (c *lateClock) Now() unit.Time {
	late := c.random.Span(c.most)
	if !c.even && c.random.Below(200) == 0 {
		late *= 20
	}
	c.now = max(c.now+1, c.event.Add(late))
	return c.now
}

// logWith runs a fabric on the virtual clock, and returns its event log.
func logWith(t *testing.T, f *fabric.Fabric, s Schemes, more ...trace.Sink) string {
	t.Helper()
	var b bytes.Buffer
	log := report.NewEventLog(&b, f, report.JSONLog)
	run, err := assemble.New(f, s, trace.NewBatch(1, append(more, log)...))
	if err != nil {
		t.Fatal(err)
	}
	run.End = min(run.End, unit.Time(2*unit.Millisecond))
	if _, err := (drive.Virtual{SkipCodec: true}).Run(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// All that a late machine does to a run follows from the instants that its clock has shown: with
// these instants repeated the event log is the same, byte for byte, under every algorithm, with
// limiters that flows share and without. With other instants it is another one.
func TestModelMeasuredInstantsMakeTheSameLog(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	for _, name := range []string{
		"hpl2002/fig3b", "qcn/unit-step", "qcn/single-limiter", "qcn/two-points", "bcn/convergence", "e2cm/rtt", "cca/levels", "dcqcn/unequal", "roce/go-back-n",
	} {
		t.Run(name, func(t *testing.T) { repeats(t, name, Schemes{}) })
	}
}

// It holds for limiters of the calling program, which have the contract of node.RateLimiter also
// where the clock is late: golang.org/x/time/rate is one.
func TestModelLimitersOfOthersCanBeRepeated(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	starts := 0
	repeats(t, "../docs/examples/incast.yaml", Schemes{Limiter: func(_ *fabric.Flow, line unit.Rate) node.RateLimiter {
		return &contract{RateLimiter: runtest.XTimeRate(line), t: t, starts: &starts}
	}})
	if starts < 1000 {
		t.Errorf("%d starts are too few to tell", starts)
	}
}

func repeats(t *testing.T, name string, s Schemes) {
	laid, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(laid)
	if err != nil {
		t.Fatal(err)
	}
	ideal := logWith(t, f, s)
	live := func(seed uint64) (*measured.Time, string) {
		clock := &lateClock{random: unit.NewRandom(seed, 0), most: unit.Microsecond}
		s.Measured = measured.New(clock, 1<<40)
		return s.Measured, logWith(t, f, s, clock)
	}
	of, log := live(1)
	if _, other := live(2); log == ideal || log == other {
		t.Error("the clock changes nothing: this tests nothing")
	}
	s.Measured = of.Repeat()
	if again := logWith(t, f, s); again != log {
		t.Error(firstDifference(log, again))
	}
	if strings.Contains(log, `"violation"`) {
		t.Error("the fabric has broken a promise")
	}
	if of.Starts.Count < 100 || of.Starts.Late == 0 {
		t.Errorf("%d starts, %d of them late", of.Starts.Count, of.Starts.Late)
	}
}

// firstDifference returns the first lines that differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\nthen\n" + y[i]
		}
	}
	return "one of them is longer"
}

// contract checks what a limiter can rely on.
type contract struct {
	node.RateLimiter
	t      *testing.T
	starts *int
	last   unit.Time
	lets   bool
	size   unit.Size
}

func (c *contract) at(now unit.Time) {
	c.t.Helper()
	if now < c.last {
		c.t.Fatalf("a limiter is handed %v after %v", now, c.last)
	}
	c.last = now
}

func (c *contract) Next(now unit.Time, n unit.Size) unit.Time {
	c.at(now)
	at := c.RateLimiter.Next(now, n)
	c.lets, c.size = at == now, n
	return at
}

func (c *contract) Sent(now unit.Time, n unit.Size) {
	c.at(now)
	if !c.lets || n > c.size {
		c.t.Fatalf("%d bytes start at %v that were not let", n, now)
	}
	c.lets = false
	*c.starts++
	c.RateLimiter.Sent(now, n)
}

func (c *contract) SetRate(now unit.Time, r unit.Rate) {
	c.at(now)
	c.RateLimiter.SetRate(now, r)
}

// What late starts do to the sums of hpl2002/fig3b, by a clock that is late at random by up to a
// share of T: docs/notes/validation.md has the table. By as much as faithful allows on average, 4 %
// of T, they are within three points; at half of T on average they are not.
func TestModelLateStartsAndTheSums(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	s, err := Open("hpl2002/fig3b")
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	sums := func(most unit.Duration) (sums []float64) {
		c, err := metrics.New(f, s)
		if err != nil {
			t.Fatal(err)
		}
		clock, schemes := &lateClock{random: unit.NewRandom(1, 0), most: most, even: true}, Schemes{}
		if most > 0 {
			schemes.Measured = measured.New(clock, 0)
		}
		run, err := assemble.New(f, schemes, trace.NewBatch(1, c, clock))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (drive.Virtual{SkipCodec: true}).Run(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		c.Close(run.End)
		for _, x := range []string{"trunk.A-B", "root.B-BC", "local", "remote", "victim"} {
			m, err := metrics.Compile(x+".utilisation", f)
			if err != nil {
				t.Fatal(err)
			}
			sums = append(sums, 100*m.Over(c, unit.Time(42100*unit.Microsecond), unit.Time(60*unit.Millisecond)))
		}
		t.Logf("late by up to %v: %.1f", most, sums)
		return sums
	}
	const packet = 2068 * unit.Nanosecond
	apart := func(a, b []float64) (most float64) {
		for i := range 4 { // the victim is a single flow
			most = max(most, math.Abs(a[i]-b[i]))
		}
		return most
	}
	ideal := sums(0)
	if d := apart(ideal, sums(packet*8/100)); d > 3 || d < 0.5 {
		t.Errorf("late by 4 %% of T in the mean, sums are %.1f points apart", d)
	}
	if d := apart(ideal, sums(packet)); d < 10 {
		t.Errorf("late by half of T in the mean, sums are %.1f points apart: the clock changes nothing", d)
	}
}
