//go:build timing

package bench_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"fabemu/emu/host"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/wire/unit"
)

// sleeper paces by time.Sleep.
type sleeper struct{ rate unit.Rate }

func (l *sleeper) Next(now unit.Time, _ unit.Size) unit.Time { return now }
func (l *sleeper) SetRate(_ unit.Time, r unit.Rate)          { l.rate = r }
func (l *sleeper) Sent(_ unit.Time, n unit.Size) {
	time.Sleep(time.Duration(l.rate.Serialise(n) / unit.Nanosecond))
}

// napper sleeps until the instant that it should give.
type napper struct{ keeper }

func (l *napper) Next(now unit.Time, n unit.Size) unit.Time {
	t := l.keeper.Next(now, n)
	time.Sleep(time.Duration(t.Sub(now) / unit.Nanosecond))
	return now
}

// TestWallHog is no test: in a process that hogs starts it takes a core for itself.
func TestWallHog(*testing.T) {
	for end := time.Now().Add(time.Hour); os.Getenv("BENCH_HOG") != "" && time.Now().Before(end); {
	}
}

// hogs starts processes that never pause, one for each of two cores, until the test is over. If the
// test times out, they end with its process.
func hogs(t *testing.T) {
	t.Helper()
	guard := host.NewChildGuard()
	t.Cleanup(guard.Close)
	for range 2 {
		hog := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWallHog$")
		hog.Env = append(os.Environ(), "BENCH_HOG=1")
		if err := guard.Start(hog); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = hog.Wait() })
	}
}

// Right limiters are not blamed for a machine that is busy, and limiters that wait are found
// there too, by the time of their calls. TestWallSoakBesideHogs has a hundred runs.
func TestWallBesideHogs(t *testing.T) {
	hogs(t)
	for run := range 2 {
		for _, c := range bench.RealCases() {
			unblamed(t, run, right[run%len(right)], c)
		}
		c := bench.RealCases()[0]
		new := []bench.New{
			func(r unit.Rate) node.RateLimiter { return &sleeper{r} },
			func(r unit.Rate) node.RateLimiter { return &napper{keeper{rate: r}} },
		}[run%2]
		r, err := bench.MeasureReal(t.Context(), new, c, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Faults, func(f bench.Fault) bool { return f.Criterion == bench.Blocks }) {
			t.Errorf("run %d, %s: time.Sleep is not found: %v", run, c.Name, r)
		}
	}
}

// right are limiters that are right.
var right = []bench.New{
	func(r unit.Rate) node.RateLimiter { return node.NewInterPacketDelay(r) },
	func(r unit.Rate) node.RateLimiter { return node.NewTokenBucket(r, 4500) },
}

// unblamed measures a right limiter.
func unblamed(t *testing.T, run int, new bench.New, c bench.Case) {
	t.Helper()
	r, err := bench.MeasureReal(t.Context(), new, c, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Faults != nil {
		t.Errorf("run %d, %T: %s: %v\n%v", run, new(1), c.Name, r, r.Faults)
	}
}

// In real time a right limiter is not blamed, and where the machine has the time for a judgement
// one that is twice as fast is found, and time.Sleep is later than a source that spins.
func TestWallReal(t *testing.T) {
	fast := func(r unit.Rate) node.RateLimiter { return &favoured{keeper{rate: r}, 2} }
	for k, c := range bench.RealCases() {
		for i, new := range append(right[:len(right):len(right)], fast) {
			if i < len(right) && i != k%len(right) || i == len(right) && k < len(bench.RealCases())-1 {
				continue // each case has one that is right, and the last one that is not
			}
			r, err := bench.MeasureReal(t.Context(), new, c, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: judged %v, %+v", c.Name, r.Real.Judged(), *r.Real)
			found := slices.ContainsFunc(r.Faults, func(f bench.Fault) bool { return f.Criterion == bench.RealTime || f.Criterion == bench.Late })
			switch {
			case i < len(right) && found:
				t.Errorf("%s: a right limiter is blamed: %v", c.Name, r.Faults)
			case i == len(right) && r.Real.Judged() && !found:
				t.Errorf("%s: one that is twice as fast is not found: %+v", c.Name, r.Real)
			case r.Real.Judged() && r.Real.Sleep.Late < r.Real.Ideal.Late:
				t.Errorf("%s: time.Sleep wakes up in time: %+v", c.Name, r.Real)
			}
		}
	}
}
