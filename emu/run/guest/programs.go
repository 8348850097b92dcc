package guest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/files"
	"fabemu/emu/host/netns"
	"fabemu/emu/scenario"
	"fabemu/wire/unit"
)

// ProgramsDir has the output of programs, in the directory of a run: NAME.out is a program's
// standard output, NAME.err its standard error.
const ProgramsDir = "programs"

// Programs are the programs of a scenario, which run in its guests.
type Programs struct {
	guests *Guests
	dir    string
	all    []*program
	inside map[string]*netns.Inside // by guest
	ended  chan struct{}            // closed at the end of the run
	wait   sync.WaitGroup
	began  time.Time // when model time was 0
}

// program is one command. It belongs to its goroutine until it ends.
type program struct {
	scenario.Program
	cmd      *exec.Cmd
	sending  Sending // in place of cmd, in a guest with a stack in this program
	end      Stack   // its receiver; nil: a real host
	out, err *os.File
	report   ProgramReport
}

// ProgramReport describes how a program ended.
type ProgramReport struct {
	Name   string `json:"name"`
	On     string `json:"on"`
	Run    string `json:"run"`
	AtPs   int64  `json:"at_ps"`
	Status int    `json:"status"` // exit status; -1: none
	Ended  string `json:"ended"`  // how it has ended, in words
	Output string `json:"output"` // the file, within the directory of the results
}

// openPrograms prepares the programs of the scenario, and starts none. Their output goes into a
// folder of a directory.
func (g *Guests) openPrograms(directory string) (p *Programs, err error) {
	p = &Programs{guests: g, dir: filepath.Join(directory, ProgramsDir), inside: map[string]*netns.Inside{},
		ended: make(chan struct{})}
	if len(g.fabric.Scenario.Programs) == 0 {
		return p, nil
	}
	if err := files.MakeAll(p.dir); err != nil {
		return nil, err
	}
	var hosts []netns.Host
	for _, x := range g.all {
		if x.scene.Address.None() {
			continue
		}
		hosts = append(hosts, netns.Host{Name: x.name, Address: x.scene.Address.Addr()})
	}
	defer func() {
		if err != nil {
			p.stop()
			p = nil
		}
	}()
	for _, x := range g.fabric.Scenario.Programs {
		prog := &program{Program: x}
		prog.report = ProgramReport{
			Name: x.Name, On: x.On, Run: x.Run, AtPs: int64(x.At), Status: -1, Ended: "never started",
			Output: filepath.Join(ProgramsDir, x.Name+".out"),
		}
		p.all = append(p.all, prog)
		if prog.out, err = files.Create(filepath.Join(p.dir, x.Name+".out")); err != nil {
			return p, err
		}
		on := g.named(x.On)
		if on.stack != nil {
			s, err := scenario.ReadSending(x.Run)
			if err != nil {
				return p, err
			}
			to := g.named(s.To)
			prog.sending, prog.end = on.stack.Send(unit.Time(x.At), to.scene.Address.Addr(), int64(s.Size)), to.stack
			continue
		}
		if p.inside[x.On] == nil {
			if p.inside[x.On], err = netns.Enter(on.space, hosts); err != nil {
				delete(p.inside, x.On)
				return p, err
			}
		}
		prog.cmd = exec.Command("/bin/sh", "-c", x.Run)
		if prog.err, err = files.Create(filepath.Join(p.dir, x.Name+".err")); err != nil {
			return p, err
		}
		prog.cmd.Stdout, prog.cmd.Stderr = prog.out, prog.err
		prog.cmd.Env = append(os.Environ(), "FABEMU_GUEST="+x.On)
	}
	return p, nil
}

func (g *Guests) named(name string) *guest {
	for _, x := range g.all {
		if x.name == name {
			return x
		}
	}
	panic("guests: there is no guest " + name)
}

// begin starts each program at its time: model time 0 is now.
func (p *Programs) begin() {
	began, dilation := time.Now(), p.guests.fabric.Scenario.Wall.Dilation
	p.began = began
	for _, x := range p.all {
		if x.sending != nil {
			continue
		}
		p.wait.Go(func() {
			defer errs.Catch(func(err error) { x.report.Ended = err.Error() })
			select {
			case <-time.After(time.Until(began.Add(time.Duration(int64(x.At) / 1000 * dilation)))):
				x.run(p)
			case <-p.ended:
			}
		})
	}
}

// run runs a program to its end, or until all are stopped.
func (x *program) run(p *Programs) {
	if err := p.inside[x.On].Start(x.cmd); err != nil {
		x.report.Ended = fmt.Sprintf("could not be started: %v", err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- x.cmd.Wait() }()
	killed := false
	select {
	case <-ended:
	case <-p.ended:
		killed = x.cmd.Process.Kill() == nil // and with it goes its PID namespace
		<-ended
	}
	status, _ := x.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Exited():
		x.report.Status = status.ExitStatus()
		x.report.Ended = fmt.Sprintf("ended with status %d", x.report.Status)
	case killed:
		x.report.Ended = "killed at the end of the run"
	default:
		x.report.Ended = fmt.Sprintf("killed by a signal: %v", status.Signal())
	}
}

// finish writes the report of a sending.
func (x *program) finish() {
	r := x.sending.Sent(x.end)
	switch {
	case r.Error != "":
		x.report.Status, x.report.Ended = 1, r.Error
	case r.Whole:
		x.report.Status, x.report.Ended = 0, "has sent all of it"
	case r.Endless:
		x.report.Status, x.report.Ended = 0, "has sent until the end of the run"
	default:
		x.report.Ended = "not done at the end of the run"
	}
	if err := json.NewEncoder(x.out).Encode(r); err != nil {
		x.report.Ended += fmt.Sprintf("; its output cannot be written: %v", err)
	}
}

// stop kills the programs that still run.
func (p *Programs) stop() {
	select {
	case <-p.ended:
		return
	default:
	}
	close(p.ended)
	p.wait.Wait()
	for _, in := range p.inside {
		in.Close()
	}
	for _, x := range p.all {
		if x.sending != nil {
			x.finish()
		}
		for _, f := range []*os.File{x.out, x.err} {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

// Report describes how the programs ended. Call it after stop.
func (p *Programs) Report() (all []ProgramReport) {
	for _, x := range p.all {
		all = append(all, x.report)
	}
	return all
}

// Value returns a measurement of a program, or NaN and the reason.
func (p *Programs) Value(m scenario.ProgramMetric) (value float64, why string) {
	x := p.all[m.Program]
	if m.Path == nil {
		if x.report.Status < 0 {
			return math.NaN(), "it has no exit status: it was " + x.report.Ended
		}
		return float64(x.report.Status), ""
	}
	text, err := os.ReadFile(filepath.Join(p.dir, x.Name+".out"))
	if err != nil {
		return math.NaN(), err.Error()
	}
	return number(text, m.Path)
}

// number returns a number in a text of JSON.
func number(text []byte, path []string) (float64, string) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return math.NaN(), fmt.Sprintf("its output is not JSON: %v", err)
	}
	for i, key := range path {
		at := strings.Join(path[:i+1], ".")
		switch x := v.(type) {
		case map[string]any:
			sub, ok := x[key]
			if !ok {
				return math.NaN(), "its output has no " + at
			}
			v = sub
		case []any:
			k, err := strconv.Atoi(key)
			if err != nil || k < 0 || k >= len(x) {
				return math.NaN(), fmt.Sprintf("its output has no %s: the list there has %d items", at, len(x))
			}
			v = x[k]
		default:
			return math.NaN(), "its output has nothing within " + strings.Join(path[:i], ".")
		}
	}
	n, ok := v.(float64)
	if !ok {
		return math.NaN(), strings.Join(path, ".") + " is not a number in its output"
	}
	return n, ""
}
