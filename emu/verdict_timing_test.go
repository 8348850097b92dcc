//go:build timing

package emu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"time"

	"fabemu/emu/emutest/runtest"
	"fabemu/emu/result/report"
	"fabemu/emu/run/process"
	"fabemu/wire/link"
	"fabemu/wire/unit"
)

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

// Other programs take all processors, several times over. The run takes longer, and says so: its
// order is exact, and its clock is held while others run. A limiter in measured time reads that
// clock.
func TestWallVerdictBesideHogs(t *testing.T) {
	hogs(t, 4*runtime.NumCPU())
	for _, timing := range []TimeSource{IdealTiming, ActualTiming} {
		r := verdict(t, "hpl2002/fig3b", "20ms", Options{Settings: Settings{Timing: timing}}, "wall.dilation=20")
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

// A part of a run in processes is stopped for a tenth of it. The others wait for it.
func TestWallVerdictOfAStoppedPart(t *testing.T) {
	var started processes
	s := runtest.Short(t, "hpl2002/fig2", "20ms", "wall.dilation=200")
	whole := time.Duration(s.Model.Duration/1000) * time.Duration(s.Wall.Dilation)
	var once, end sync.Once
	o := Options{Settings: Settings{Placement: InDomains}, test: process.Hooks{Started: started.started}}
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
