package emu

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/wire/link"
)

// Each level of the verdict, reached by something that happens to real runs. What a
// run says of its pace must be so however busy the machine of the test is; so
// causes are chosen large.

// verdict runs a scenario and returns its result.
func verdict(t *testing.T, name, duration string, o Options, sets ...string) *Result {
	t.Helper()
	return verdictOf(t, runtest.Short(t, name, duration, sets...), o)
}

func verdictOf(t *testing.T, s *scenario.Scenario, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
	return r
}

// wantLevel checks the level, and that figures in model time are those of the
// virtual clock where the level says so.
func wantLevel(t *testing.T, r *Result, levels ...report.Level) {
	t.Helper()
	for _, l := range levels {
		if r.Verdict.Level != l {
			continue
		}
		if (l == report.Exact || l == report.OrderOnly) && r.Verdict.Verify != "equal" {
			t.Errorf("the level is %s, but the log compared with the virtual clock's: %q", l, r.Verdict.Verify)
		}
		return
	}
	t.Errorf("level %s (%s), want %v", r.Verdict.Level, r.Verdict.Reason, levels)
}

// hogs keeps processors busy with other processes until the test ends.
func hogs(t *testing.T, n int) {
	for range n {
		c := exec.Command("sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	}
}

// slowLink is an end of a link on which every tenth send of all ends takes a
// twelfth of a packet time.
type slowLink struct {
	link.Link
	*slower
}

type slower struct {
	sent    int
	twelfth time.Duration
}

func (l *slowLink) Send(b []byte) error {
	if l.sent++; l.sent%10 == 0 {
		for begin := time.Now(); time.Since(begin) < l.twelfth; {
		}
	}
	return l.Link.Send(b)
}

// bursty is an end of a link that sends each datagram several times over, so that
// more than one waits at the other end.
type bursty struct{ link.Link }

func (l *bursty) Send(b []byte) error {
	for range 3 {
		if err := l.Link.Send(b); err != nil {
			return err
		}
	}
	return nil
}

func (l *bursty) Lost() (uint32, error) {
	return l.Link.(interface{ Lost() (uint32, error) }).Lost()
}

// Whatever the clock does, the log is that of the virtual clock, and no frame is early. The clocks
// are numbers, so the result does not depend on the machine: each reading takes 200 ns, and some
// take longer.
func TestModelClockIsHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	const ms = int64(time.Millisecond)
	random := rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		name  string
		away  func() func(now int64) int64 // for how long the machine is away at a reading
		level report.Level
		check func(p *report.Pace) bool
	}{
		{"even", each(func() int64 { return 0 }), report.Exact, func(p *report.Pace) bool {
			return p.Holds == 0 && p.Achieved < 1.001*p.Requested && p.OffShare < 0.01
		}},
		{"away for 2 s, once", every(200*ms, 2000*ms, 1), report.Faithful, func(p *report.Pace) bool {
			return p.Holds == 1 && p.LongestUs > 1_999_000 && p.LongestUs < 2_001_000 && len(p.LongestHolds) == 1 && p.Peak > 10*p.Requested
		}},
		// A virtual machine that is suspended may see its clock leap.
		{"away for an hour, once", every(200*ms, 3_600_000*ms, 1), report.Faithful, func(p *report.Pace) bool {
			return p.Holds == 1 && p.LongestUs > 3599_999_000 && p.LongestUs < 3600_001_000 && p.GapErrorT.P99 < 0.05
		}},
		{"away for 200 ms, ten times", every(90*ms, 200*ms, 10), report.Faithful, func(p *report.Pace) bool {
			return p.Holds == 10 && len(p.LongestHolds) == 10 && p.LongestHolds[9].Us > 199_000 && p.LongestUs < 201_000
		}},
		{"away for half of the time", every(25*ms, 25*ms, 1000), report.Faithful, func(p *report.Pace) bool {
			return p.Achieved > 1.9*p.Requested && p.Achieved < 2.1*p.Requested && p.GapErrorT.P99 < 0.25
		}},
		{"away now and then", each(func() int64 {
			if random.IntN(20_000) > 0 {
				return 0
			}
			return random.Int64N(20 * ms)
		}), report.Faithful, func(p *report.Pace) bool { return p.Holds > 10 && p.GapErrorT.P99 < 0.25 }},
		{"too slow", each(func() int64 { return 400_000 }), report.OrderOnly, func(p *report.Pace) bool { return p.Achieved > 1.5*p.Requested }},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, timing := range []TimeSource{IdealTiming, ActualTiming} {
				now, away := int64(0), x.away()
				o := Options{Settings: Settings{Timing: timing}, test: process.Hooks{Clock: func() int64 {
					now += 200 + away(now)
					return now
				}}}
				r := verdict(t, "hpl2002/fig2", "5ms", o, "wall.dilation=200")
				p := &r.Verdict.Pace
				if r.Verdict.Verify != report.VerifiedEqual || p.Early > 0 {
					t.Errorf("%s: log %s, %d frames early", timing, r.Verdict.Verify, p.Early)
				}
				if timing == IdealTiming && (r.Verdict.Level != x.level || !x.check(p)) {
					t.Errorf("%s, want %s: %+v", r.Verdict.Level, x.level, *p)
				}
				if s := r.Verdict.Starts; timing == ActualTiming && x.level != report.OrderOnly && s.LatenessPacketTimes.Max > 0.3 {
					t.Errorf("a limiter was %v packet times late: the clock that it reads has jumped", s.LatenessPacketTimes.Max)
				}
			}
		})
	}
}

// each returns a clock that is away for a time at each reading.
func each(away func() int64) func() func(now int64) int64 {
	return func() func(int64) int64 { return func(int64) int64 { return away() } }
}

// every returns a clock that is away this many times, after so much time of readings each.
func every(ns, away int64, times int) func() func(now int64) int64 {
	return func() func(now int64) int64 {
		next, left := ns, times
		return func(now int64) int64 {
			if now < next || left == 0 {
				return 0
			}
			left--
			next = now + away + ns
			return away
		}
	}
}

// The clock of a run does not count the time in which the machine was suspended, and the result
// says so.
func TestModelRunOnAMachineThatIsSuspended(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	asked := time.Duration(0)
	r := verdict(t, "hpl2002/fig2", "3ms", Options{test: process.Hooks{Suspended: func() time.Duration {
		asked += time.Hour
		return asked
	}}}, "wall.dilation=20")
	if want := "the machine was suspended for 1h0m0s"; !strings.Contains(strings.Join(r.Warnings, "\n"), want) {
		t.Errorf("warnings %q, want %q", r.Warnings, want)
	}
}

// A clock that may not be held lets frames leave late, and the verdict shows that.
func TestModelVerdictOfAFixedClock(t *testing.T) {
	if testing.Short() {
		t.Skip("long: not with -short")
	}
	now, away := int64(0), every(25_000_000, 25_000_000, 1000)()
	o := Options{Settings: Settings{Hold: mode.HoldOff}, test: process.Hooks{Clock: func() int64 {
		now += 200 + away(now)
		return now
	}}}
	r := verdict(t, "hpl2002/fig2", "10ms", o, "wall.dilation=200")
	wantLevel(t, r, report.OrderOnly)
	if p := &r.Verdict.Pace; p.Holds > 0 || p.FloorShare < 0.4 || p.LateShare < 0.4 || p.Achieved > 1.05*p.Requested {
		t.Errorf("the run is not the one that is meant: %+v", *p)
	}
}
