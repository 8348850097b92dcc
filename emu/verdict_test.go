//go:build !race

package emu

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"fabemu/emu/run/process"
	"fabemu/emu/scenario"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

// Each level of the verdict, reached by something that happens to real runs. What a
// run says of its pace must be so however busy the computer of the test is; so
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
		if p == slow[len(slow)-1] && r.Verdict.Verify == "equal" && strings.Contains(r.Verdict.Reason, "a level that it cannot give") {
			return nil // others take too much of this computer, and the verdict knows
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
		o := Options{Priority: true, test: process.Hooks{Wrap: func(l link.Link) link.Link { return &slowLink{l, &slower} }}}
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

// Other programs take all processors, several times over. The order stays exact, so
// figures in model time stand; the pace does not. With the measured time told to
// machines, nothing stands.
func TestWallVerdictBesideHogs(t *testing.T) {
	hogs(t, 4*runtime.NumCPU())
	r := verdict(t, "hpl2002/fig3b", "20ms", Options{}, "wall.dilation=20")
	wantLevel(t, r, report.OrderOnly)
	if !(r.Verdict.ForeignCPUs > 0.3) {
		t.Errorf("others used %.2f processors, it says", float64(r.Verdict.ForeignCPUs))
	}
	wantLevel(t, verdict(t, "hpl2002/fig3b", "20ms", Options{Timing: ActualTiming}, "wall.dilation=20"), report.Degraded)
}

// The process is stopped for a while. It catches up, but what left meanwhile left
// late, and the stall is shown where it was.
func TestWallVerdictOfAPausedProcess(t *testing.T) {
	binary, err := runtest.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(binary, "run", "--json", "--out", filepath.Join(t.TempDir(), "out"), "--link", "udp", "--dilation", "20", "hpl2002/fig2")
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
	wantLevel(t, &r, report.OrderOnly)
	if worst := float64(r.Verdict.Pace.LatenessUs.Max); worst < float64(pause.Microseconds()) {
		t.Errorf("the latest frame left %.0f us late in a run that was stopped for %v", worst, pause)
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

// A clock that leaps ahead leaves no time for what was to be done meanwhile.
func TestWallVerdictOfAClockThatLeaps(t *testing.T) {
	begin, sent := time.Now(), 0
	o := Options{test: process.Hooks{
		Wrap: func(l link.Link) link.Link { return &counted{l, &sent} },
		Clock: func() int64 {
			now := time.Since(begin)
			if sent > 1000 {
				now += 2 * time.Second
			}
			return int64(now)
		},
	}}
	r := verdict(t, "hpl2002/fig2", "5ms", o, "wall.dilation=200")
	if sent < 3000 {
		t.Errorf("only %d datagrams were sent", sent)
	}
	wantLevel(t, r, report.OrderOnly)
	if r.Verdict.Stalls == 0 {
		t.Error("no stall was seen")
	}
}

// counted is an end of a link that counts what all ends send.
type counted struct {
	link.Link
	sent *int
}

func (l *counted) Send(b []byte) error {
	*l.sent++
	return l.Link.Send(b)
}

// The process is away for a third of the time, but hardly a frame was to leave then: no
// share of frames shows it.
func TestModelVerdictOfAStallWithoutFrames(t *testing.T) {
	now, away := int64(0), int64(600_000_000)
	o := Options{test: process.Hooks{Spin: true, Clock: func() int64 {
		if now += 200; now > 1_200_000_000 {
			now, away = now+away, 0
		}
		return now
	}}}
	idle := []string{"wall.dilation=200", "flows.local.start=0us", "flows.local.stop=5ms", "flows.remote.start=9900us", "flows.victim.start=0us", "flows.victim.stop=5ms"}
	r := verdict(t, "hpl2002/fig2", "10ms", o, idle...)
	wantLevel(t, r, report.OrderOnly)
	if p := &r.Verdict.Pace; p.LateShare > 0.05 || p.LatenessPacketTimes.P99 > 0.25 || p.Ratio < 0.995 || p.StalledShare < 0.29 || p.StalledShare > 0.31 {
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
	wantLevel(t, r, report.OrderOnly)
	if p := &r.Verdict.Pace; p.StalledShare < 0.09 || r.Verdict.Stalls == 0 {
		t.Errorf("a part was stopped for a tenth of the run, and %.3f of it is said to have been stalls", float64(p.StalledShare))
	}
}

// A computer that is away for half of the time, 60 packet times at a time: its floor is
// as bad as the run, so the comparison of the two says nothing, and the limits of the
// levels do. The clock is one of numbers, so how busy the computer of the test is does
// not matter.
func TestModelVerdictOfAComputerThatIsAway(t *testing.T) {
	const away = 25_000_000 // ns
	now := int64(0)
	o := Options{test: process.Hooks{Clock: func() int64 {
		if now += 200; now/away%2 == 1 {
			now += away - now%away
		}
		return now
	}}}
	r := verdict(t, "hpl2002/fig2", "10ms", o, "wall.dilation=200")
	wantLevel(t, r, report.OrderOnly)
	p := &r.Verdict.Pace
	if p.Ratio < 0.995 || p.FloorShare < 0.4 || p.LateShare < 0.4 || p.LateShare > p.FloorShare+0.02 {
		t.Errorf("the run is not the one that is meant: %+v", *p)
	}
	if want := "a level that it cannot give"; !strings.Contains(r.Verdict.Reason, want) {
		t.Errorf("the reason is %q, want %q in it", r.Verdict.Reason, want)
	}
}

// A clock that falls back lets a frame leave before its time. No figure stands.
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
