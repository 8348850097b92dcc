package propose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Trial is a short run at a dilation.
type Trial struct {
	Dilation  int64         `json:"dilation"`
	Achieved  report.Number `json:"achieved_dilation"` // wall time per model time
	Sustained bool          `json:"sustained"`
	Level     report.Level  `json:"level"`  // of the verdict
	Reason    string        `json:"reason"` // of the verdict, as a sentence
}

// tolerance is by how much the achieved dilation may exceed the requested one.
const tolerance = 0.05

// paced reports whether the machine kept the pace.
func (t *Trial) paced() bool { return float64(t.Achieved) <= float64(t.Dilation)*(1+tolerance) }

// rank orders trials that are not sustained: those that kept their pace by level, and then the
// others.
func (t *Trial) rank() int {
	if !t.paced() {
		return len(report.Levels())
	}
	return slices.Index(report.Levels(), t.Level)
}

// sustains reports whether the machine sustained a dilation: the figures in wall time are valid.
func sustains(t *Trial) bool { return t.paced() && t.Level.Strict() }

// String describes a trial in sentences.
func (t *Trial) String() string {
	verb := "is not sustained"
	if t.Sustained {
		verb = "is sustained"
	}
	if !t.paced() {
		return fmt.Sprintf("A dilation of %d %s: this machine achieved %s.", t.Dilation, verb, t.Achieved.Short())
	}
	return fmt.Sprintf("A dilation of %d %s. %s", t.Dilation, verb, t.Reason)
}

const (
	trialTime = 400 * time.Millisecond // wall time of a trial, from its first event
	startTime = time.Minute            // until that, at most
	beginTime = 50 * time.Millisecond  // of it, in which holds do not count
	lookTime  = 3 * time.Second        // for the search for the busiest stretch, at most
	stretch   = unit.Millisecond       // the busiest of these is looked for
	stretches = 100_000                // at most; in a longer scenario they are longer
)

// trials makes trials of a scenario.
type trials struct {
	ctx      context.Context
	scenario *scenario.Scenario // begins with the busiest stretch
	options  emu.Options
	busyAt   unit.Duration
	partly   bool // the run has parts that the trials have not
}

// newTrials looks for the busiest stretch of a scenario.
func newTrials(ctx context.Context, s *scenario.Scenario, o emu.Options) (*trials, error) {
	if _, hosts := s.Guests(); hosts > 0 {
		return nil, errs.Errorf("%s has real guests, which a trial does not start: choose the dilation yourself", s.Name)
	}
	t := &trials{ctx: ctx, options: emu.Options{
		Settings: emu.Settings{Timing: o.Timing, Link: o.Link, Packing: o.Packing, Placement: o.Placement}, Pin: o.Pin, NewStack: o.NewStack, Schemes: o.Schemes,
		Version: o.Version, Verify: emu.VerifyOff,
	}}
	if t.partly = o.Placement == emu.InHosts || len(o.ByHand) > 0; t.partly {
		t.options.Placement, t.options.Packing = "", emu.Single // as between parts
	}
	var err error
	if t.busyAt, err = t.busiest(s, lookTime); err != nil {
		return nil, err
	}
	t.scenario = from(s, t.busyAt)
	return t, nil
}

// busiest returns where the busiest stretch of a scenario begins, as far as the virtual clock comes
// in this much wall time.
func (t *trials) busiest(s *scenario.Scenario, look time.Duration) (unit.Duration, error) {
	c := &counter{length: max(stretch, s.Model.Duration/stretches+1)}
	c.frames = make([]int64, s.Model.Duration/c.length+1)
	ctx, cancel := context.WithTimeout(t.ctx, look)
	defer cancel()
	_, err := emu.Run(ctx, from(s, 0), emu.Options{
		Settings: emu.Settings{Clock: emu.VirtualClock, Loops: 1}, Sink: c, NewStack: t.options.NewStack, Schemes: t.options.Schemes,
	})
	if err := cmp.Or(t.ctx.Err(), err); err != nil {
		return 0, err
	}
	most := slices.Max(c.frames)
	if most == 0 {
		return 0, errs.Errorf("nothing is sent in the part of %s that this machine runs in %v: there is no dilation to find", s.Name, look)
	}
	return unit.Duration(slices.Index(c.frames, most)) * c.length, nil
}

// counter counts the frames of flows over time.
type counter struct {
	length unit.Duration // of a stretch
	frames []int64       // by stretch
}

// Record counts a frame of a flow that begins.
func (c *counter) Record(e *trace.Event) {
	if e.Kind == trace.Start && e.Flow > 0 {
		c.frames[unit.Duration(e.At)/c.length]++
	}
}

// from returns a copy of a scenario that begins at an instant, without claims. A flow that runs
// there starts at once.
func from(s *scenario.Scenario, at unit.Duration) *scenario.Scenario {
	out := *s
	out.Expect = nil
	out.Flows, out.Workloads = slices.Clone(s.Flows), slices.Clone(s.Workloads)
	out.Events, out.Programs = slices.Clone(s.Events), slices.Clone(s.Programs)
	move := func(start, stop *unit.Duration) {
		*start = max(0, *start-at)
		switch {
		case *stop > at:
			*stop -= at
		case *stop > 0: // it is over: it starts when the run ends
			*start, *stop = s.Model.Duration-1, 0
		}
	}
	for i := range out.Flows {
		move(&out.Flows[i].Start, &out.Flows[i].Stop)
	}
	for i := range out.Workloads {
		move(&out.Workloads[i].Start, &out.Workloads[i].Stop)
	}
	for i := range out.Events {
		out.Events[i].At = max(0, out.Events[i].At-at)
	}
	for i := range out.Programs {
		out.Programs[i].At = max(0, out.Programs[i].At-at)
	}
	return &out
}

// try runs the busiest stretch at a dilation for trialTime.
func (t *trials) try(dilation int64) (*Trial, error) {
	s := *t.scenario
	s.Wall.Dilation = dilation
	ctx, cancel := context.WithTimeout(t.ctx, startTime)
	defer cancel()
	o := t.options
	o.Sink = &limit{end: cancel}
	r, err := emu.Run(ctx, &s, o)
	if err := cmp.Or(t.ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("a trial at dilation %d: %w", dilation, err)
	}
	v := &r.Verdict
	out := &Trial{Dilation: dilation, Achieved: achieved(&v.Pace, r.DurationPs), Level: v.Level, Reason: v.Sentence()}
	out.Sustained = sustains(out)
	return out, nil
}

// achieved returns the dilation that was achieved in so much model time, without the holds at the
// beginning of a trial: while its processes start, none is sustained.
func achieved(p *report.Pace, model int64) report.Number {
	beginning := unit.Time(beginTime.Nanoseconds() * 1000 / max(int64(p.Requested), 1))
	held := report.Number(0)
	for _, h := range p.LongestHolds {
		if unit.Time(h.AtPs) <= beginning {
			held += h.Us
		}
	}
	return p.Achieved - held*1e6/report.Number(max(model, 1))
}

// limit ends a trial trialTime after its first event.
type limit struct {
	end   func()
	first sync.Once
}

// Record takes an event.
func (l *limit) Record(*trace.Event) { l.first.Do(func() { time.AfterFunc(trialTime, l.end) }) }
