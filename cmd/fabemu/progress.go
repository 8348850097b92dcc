package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"fabemu/emu"
	"fabemu/emu/base/terminal"
	"fabemu/emu/result/report"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
	"fabemu/wire/unit"
)

// notice shows a task and its progress on standard error: on a terminal in a line that is
// written over, elsewhere in one line after another.
type notice struct {
	to         io.Writer
	name, last string
	terminal   bool
	shown      bool
	next       time.Duration // elsewhere: when the next line is due
}

func newNotice(name string) *notice {
	return &notice{to: os.Stderr, name: name, terminal: terminal.Is(os.Stderr), next: time.Second}
}

// show shows a task and, on terminals, the share of it that is done (NaN: unknown).
func (n *notice) show(task string, done float64) {
	line := n.name + ": " + task
	if n.terminal && !math.IsNaN(done) {
		line += fmt.Sprintf(" %3.0f %%", 100*done)
	}
	if n.terminal || task != n.last {
		n.write(line)
	}
	n.last = task
}

// due reports whether a line is due after an elapsed time: on a terminal always, elsewhere at
// growing intervals.
func (n *notice) due(elapsed time.Duration) bool {
	if !n.terminal && elapsed < n.next {
		return false
	}
	n.next *= 2
	return true
}

func (n *notice) write(line string) {
	if !n.terminal {
		fmt.Fprintln(n.to, line)
		return
	}
	n.shown = true
	line = terminal.Left(terminal.Shorten(line, lineWidth), lineWidth)
	fmt.Fprintf(n.to, "\r%s", line)
}

// lineWidth is how many columns a line on a terminal takes: all terminals have them.
const lineWidth = 79

// end clears the line.
func (n *notice) end() {
	if n.shown {
		fmt.Fprintf(n.to, "\r%s\r", strings.Repeat(" ", lineWidth))
		n.shown = false
	}
}

// progress shows how far a run is, off a terminal at growing intervals.
type progress struct {
	*notice
	wall    bool
	endless bool // its user ends it
	silent  int  // how many parts did not answer in the last line
	left    pace.Remaining

	serves   bool                            // real programs see the time of the model
	programs atomic.Pointer[report.Programs] // what they see
}

func newProgress(s *scenario.Scenario, clock emu.Clock) *progress {
	p := &progress{notice: newNotice(s.Name), wall: clock != emu.VirtualClock}
	if _, real := s.Guests(); real > 0 && s.Wall.Dilation == 1 {
		p.serves = true
	}
	switch {
	case s.Endless:
		p.endless = true
		showEnds(p.to, s)
	case p.wall:
		took := time.Duration(s.Model.Duration.Seconds() * float64(s.Wall.Dilation) * 1e9)
		fmt.Fprintf(p.to, "%s: %v of model time at dilation %d takes %s\n",
			s.Name, s.Model.Duration, s.Wall.Dilation, durationText(took.Round(10*time.Millisecond)))
		if s.HasShort && took > time.Minute {
			fmt.Fprintf(p.to, "%s: --short runs a short form of it\n", s.Name)
		}
	}
	return p
}

// follow shows the progress of a run: on a terminal by one line that is rewritten, elsewhere by one
// line after another, as JSON for other programs, and not at all where it is quiet. The caller
// calls done when the run has ended.
func follow(s *scenario.Scenario, o *emu.Options, quiet, asJSON bool) (done func()) {
	switch {
	case quiet:
		return func() {}
	case asJSON:
		o.Progress = func(s emu.Status) { _ = json.NewEncoder(os.Stderr).Encode(reached(o.Directory, s)) }
		o.Progress(emu.Status{End: unit.Time(s.Model.Duration)})
		return func() {}
	}
	p := newProgress(s, o.Clock)
	if !p.terminal {
		o.Progress = p.show
		if p.serves {
			o.Observe = append(o.Observe, observe.Request{Observer: observe.Func(func(s *observe.Snapshot) { p.programs.Store(s.Verdict.Programs) }), Every: time.Second})
		}
		return func() {}
	}
	o.Observe = append(o.Observe, observe.Request{Observer: p, Every: rewriteEvery})
	return p.end
}

// there shows how long an endless run has been there.
func (p *progress) there(took time.Duration) string {
	return fmt.Sprintf("%s: it has been there for %v", p.name, took.Round(time.Second))
}

// rewriteEvery is how often the line of a run on a terminal is rewritten, in wall time.
const rewriteEvery = 200 * time.Millisecond

// Observe rewrites the line of a run on a terminal (observe.Observer): model time, pace, the
// verdict so far.
func (p *progress) Observe(s *observe.Snapshot) {
	if s.Last {
		return // end clears it
	}
	line := fmt.Sprintf("%s: %.1f of %.1f ms", p.name, s.Now.Seconds()*1e3, s.End.Seconds()*1e3)
	if p.endless {
		line = p.there(s.Wall)
	}
	if s.Dilation > 0 && s.Wall > 0 {
		line += fmt.Sprintf(", pace %.0f %%", min(100, 100*s.Now.Seconds()*float64(s.Dilation)/s.Wall.Seconds()))
	}
	if left, known := p.left.Estimate(s.Wall, s.Now, s.End); known && !p.endless {
		line += fmt.Sprintf(", %v left", left.Round(100*time.Millisecond))
	}
	if s.Level != "" && s.Level != report.Virtual {
		line += fmt.Sprintf(", %s so far", s.Level)
	}
	failed := 0
	for i := range s.Checks {
		if c := &s.Checks[i]; c.Decided && c.Outcome == report.Fail {
			failed++
		}
	}
	if failed > 0 {
		line += ", " + terminal.Count(failed, "failed check")
	}
	if len(s.Deadlocks) > 0 {
		line += ", deadlock"
	}
	for _, part := range s.Silent {
		line += ", " + part.String()
	}
	p.write(line)
}

// stage is how far a run is, as in JSON.
type stage struct {
	Directory   string   `json:"directory"` // of the results
	NowPs       int64    `json:"now_ps"`    // model time
	EndPs       int64    `json:"end_ps"`
	WallSeconds float64  `json:"wall_seconds"` // since the beginning
	LeftSeconds float64  `json:"left_seconds"` // at the pace of the last seconds
	LateFrames  int64    `json:"late_frames"`
	Silent      []string `json:"silent"` // parts in other processes that do not answer
}

func reached(dir string, s emu.Status) stage {
	silent := []string{}
	for _, part := range s.Silent {
		silent = append(silent, part.String())
	}
	return stage{dir, int64(s.Now), int64(s.End), s.Wall.Seconds(), s.Left.Seconds(), s.Late, silent}
}

// show is called while the run runs.
func (p *progress) show(s emu.Status) {
	if !p.due(s.Wall) && len(s.Silent) == p.silent {
		return
	}
	p.silent = len(s.Silent)
	line := fmt.Sprintf("%s: %5.1f %% (model time %.1f of %.1f ms), %v left", p.name,
		100*float64(s.Now)/float64(s.End), s.Now.Seconds()*1e3, s.End.Seconds()*1e3, s.Left.Round(100*time.Millisecond))
	if p.endless {
		line = p.there(s.Wall)
	}
	if p.serves { // they see no gaps
		if x := p.programs.Load(); x != nil && x.NotExact() {
			line += "; " + x.Brief()
		}
	} else if off := report.Number(s.Off) / report.Number(s.Gaps); p.wall && report.NotExact(off) {
		line += fmt.Sprintf("; %s of the gaps between frames are off", off.Percent())
	}
	for _, part := range s.Silent {
		line += ", " + part.String()
	}
	p.write(line)
}
