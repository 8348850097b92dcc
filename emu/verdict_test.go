//go:build !race

package emu

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/wire/link"
	"fabemu/wire/unit"
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

func TestWallVerdictExact(t *testing.T) {
	atSomePace(t, slow, func(t *testing.T, p atPace) []string {
		r := verdictOf(t, p.scenario(t), Options{})
		if p == slow[len(slow)-1] && r.Verdict.Level == report.Faithful && r.Verdict.Pace.Holds > 0 && r.Verdict.Verify == "equal" {
			return nil // others take too much of this machine, and the verdict states it
		}
		if r.Verdict.Level != report.Exact || r.Verdict.Verify != "equal" {
			return []string{"the level is " + string(r.Verdict.Level) + ", the log " + string(r.Verdict.Verify)}
		}
		return nil
	})
}

// A link whose sends take long now and then delays what leaves after them, but by
// less than a packet time.
func TestWallVerdictFaithful(t *testing.T) {
	atSomePace(t, slow, func(t *testing.T, p atPace) []string {
		s := p.scenario(t)
		slower := slower{twelfth: time.Duration(s.Wall.Dilation*2068/12) * time.Nanosecond}
		o := Options{test: process.Hooks{Wrap: func(l link.Link) link.Link { return &slowLink{l, &slower} }}}
		r := verdictOf(t, s, o)
		if r.Verdict.Level != report.Faithful || r.Verdict.Verify != "equal" {
			return []string{"the level is " + string(r.Verdict.Level) + ", the log " + string(r.Verdict.Verify)}
		}
		return nil
	})
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

// Other programs take all processors, several times over. The run takes longer, and says so: its
// order is exact, and its clock is held while others run. A limiter in measured time reads that
// clock.
func TestWallVerdictBesideHogs(t *testing.T) {
	hogs(t, 4*runtime.NumCPU())
	for _, timing := range []TimeSource{IdealTiming, ActualTiming} {
		r := verdict(t, "hpl2002/fig3b", "20ms", Options{Timing: timing}, "wall.dilation=20")
		if s := r.Verdict.Starts; s != nil && s.LatenessPacketTimes.Max > 1 {
			t.Errorf("a limiter was late by %v packet times, want less than the bound of the clock", s.LatenessPacketTimes.Max)
		} else if s == nil {
			wantLevel(t, r, report.Faithful, report.OrderOnly)
		}
		if v := &r.Verdict; v.Verify != report.VerifiedEqual || !(v.Pace.Achieved > 1.05*v.Pace.Requested) || v.Pace.Holds == 0 || v.Pace.Early > 0 {
			t.Errorf("%s: log %s, %+v", timing, v.Verify, v.Pace)
		}
		if !(r.Verdict.ForeignCPUs > 0.3) {
			t.Errorf("others used %.2f processors, it says", float64(r.Verdict.ForeignCPUs))
		}
	}
}

// The process is stopped for a while. The clock is held for that time, which the verdict names.
func TestWallVerdictOfAPausedProcess(t *testing.T) {
	binary, err := runtest.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "run", "--json", "--out", filepath.Join(t.TempDir(), "out"), "--packing", "single", "--dilation", "20", "hpl2002/fig2")
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	const sockets = 2 * 24 // of fig2; they are open just before it begins
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.Process.Pid)); len(files) > sockets {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the run does not begin")
		}
	}
	time.Sleep(600 * time.Millisecond) // of two seconds
	const pause = 600 * time.Millisecond
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
	}
	c.Wait()
	var r Result
	r.Result = new(report.Result)
	if err := json.Unmarshal(out.Bytes(), r.Result); err != nil {
		t.Fatalf("%v\n%s", err, out.Bytes())
	}
	t.Logf("%s: %s", r.Verdict.Level, r.Verdict.Reason)
	wantLevel(t, &r, report.Faithful, report.OrderOnly)
	if held := float64(r.Verdict.Pace.LongestUs); held < 0.9*float64(pause.Microseconds()) {
		t.Errorf("the longest hold is %.0f us in a run that was stopped for %v", held, pause)
	}
}

// A receive buffer that is too small for what waits in it loses datagrams. The
// kernel says so, and the run is void.
func TestWallVerdictOfATinyBuffer(t *testing.T) {
	o := Options{test: process.Hooks{
		Buffer: 1, // a scenario may not ask for so little
		Wrap:   func(l link.Link) link.Link { return &bursty{Link: l} },
	}}
	r := verdictOf(t, atPace{"20", "1ms"}.scenario(t), o)
	wantLevel(t, r, report.Void)
	if r.Verdict.LostDatagrams == 0 {
		t.Error("no datagram was lost")
	}
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
				o := Options{Timing: timing, test: process.Hooks{Clock: func() int64 {
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
	now, away := int64(0), every(25_000_000, 25_000_000, 1000)()
	o := Options{Hold: mode.HoldOff, test: process.Hooks{Clock: func() int64 {
		now += 200 + away(now)
		return now
	}}}
	r := verdict(t, "hpl2002/fig2", "10ms", o, "wall.dilation=200")
	wantLevel(t, r, report.OrderOnly)
	if p := &r.Verdict.Pace; p.Holds > 0 || p.FloorShare < 0.4 || p.LateShare < 0.4 || p.Achieved > 1.05*p.Requested {
		t.Errorf("the run is not the one that is meant: %+v", *p)
	}
}

// A part of a run in processes is stopped for a tenth of it. The others wait for it.
func TestWallVerdictOfAStoppedPart(t *testing.T) {
	var started processes
	s := runtest.Short(t, "hpl2002/fig2", "20ms", "wall.dilation=200")
	whole := time.Duration(s.Model.Duration/1000) * time.Duration(s.Wall.Dilation)
	var once, end sync.Once
	o := Options{Placement: InDomains, test: process.Hooks{Started: started.started}}
	wake := func() { end.Do(func() { syscall.Kill(started.pid("B"), syscall.SIGCONT) }) }
	defer wake()
	o.Progress = func(st Status) {
		if st.Now > unit.Time(s.Model.Duration/4) {
			once.Do(func() {
				syscall.Kill(started.pid("B"), syscall.SIGSTOP)
				time.AfterFunc(whole/10, wake)
			})
		}
	}
	r := verdictOf(t, s, o)
	wantLevel(t, r, report.Faithful, report.OrderOnly)
	if p := &r.Verdict.Pace; float64(p.LongestUs) < 0.9*float64((whole/10).Microseconds()) {
		t.Errorf("a part was stopped for %v, and the longest hold is %v us", whole/10, p.LongestUs)
	}
}

// A clock that falls back lets a frame leave before its time. No figure is valid.
func TestWallVerdictOfAFrameThatIsEarly(t *testing.T) {
	begin, reads := time.Now(), 0
	o := Options{test: process.Hooks{Clock: func() int64 {
		now := int64(time.Since(begin))
		if reads++; now > int64(200*time.Millisecond) && reads%2 == 0 {
			now -= int64(5 * time.Millisecond)
		}
		return now
	}}}
	r := verdict(t, "hpl2002/fig2", "3ms", o, "wall.dilation=200")
	wantLevel(t, r, report.Void)
	if r.Verdict.Pace.Early == 0 {
		t.Error("no frame left early")
	}
}

// Another part of the program allocates without end, and collects. The collections
// are counted; the order stays.
func TestWallVerdictInAStormOfGarbage(t *testing.T) {
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() {
		var keep [][]byte
		for {
			select {
			case <-stop:
				return
			default:
			}
			if keep = append(keep, make([]byte, 1<<16)); len(keep) > 1000 {
				keep = nil
				debug.FreeOSMemory() // collects
			}
		}
	})
	r := verdict(t, "hpl2002/fig3b", "12ms", Options{}, "wall.dilation=50")
	close(stop)
	storm.Wait()
	wantLevel(t, r, report.Exact, report.Faithful, report.OrderOnly)
	if r.Verdict.GCCycles == 0 || r.Verdict.Verify != "equal" {
		t.Errorf("%d collections, log %s; want some, equal", r.Verdict.GCCycles, r.Verdict.Verify)
	}
	if _, err := os.Stat("/proc/stat"); err == nil && !r.Verdict.ForeignCPUs.Known() {
		t.Error("the processors used by others are not known")
	}
}
