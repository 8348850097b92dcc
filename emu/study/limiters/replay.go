package limiters

import (
	"context"
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/base/terminal"
	"fabemu/emu/host"
	"fabemu/emu/run/feedback"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/study/limiters/bench"
	"fabemu/node"
	"fabemu/node/rp"
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Replay hands a recording to a limiter or a reaction point, whose source always has a packet. A
// limiter receives the recorded rates, and a reaction point the recorded feedback, at their
// instants. With dilation 0 it runs on the virtual clock, else on the wall clock over sockets,
// where it takes this many times the time of the recording.
//
// A limiter on the virtual clock is judged as in any case of the bench. Otherwise the figures are
// reported without a judgement, and only a program that breaks the protocol is at fault.
func Replay(ctx context.Context, r *feedback.Recording, s *Subject, dilation int64, o Options) (*Result, error) {
	out := &Result{Fabemu: o.Fabemu, Machine: host.ThisComputer(), Note: s.Note, Cases: []Outcome{}}
	c := bench.Case{
		Name: "replay/" + r.Flow, Doc: fmt.Sprintf("the recorded rates and feedback of flow %s of %s, with algorithm %s", r.Flow, r.Scenario, r.Algorithm),
		Line: r.Line, Duration: unit.Duration(r.End), Sizes: []unit.Size{r.Packet},
	}
	if r.Begin > 0 {
		c.Idle = []bench.Span{{From: 0, To: r.Begin}}
	}
	for _, e := range r.Entries {
		if e.Input.Kind == rp.NoInput && e.Limit.Of == feedback.RateLimit {
			c.Rates = append(c.Rates, bench.Step{At: e.At, Rate: unit.Rate(e.Limit.Value)})
		}
	}
	within, done := s.begins(ctx, r.Packet)
	defer done()
	algorithm, err := s.isAlgorithm(within, r)
	var outcome Outcome
	switch {
	case err != nil || s.began != nil:
	case !algorithm && dilation == 0:
		t := draw(&c)
		outcome = outcomeOf(&c, emu.VirtualClock, "", bench.Measure(s.New, c, t.add), t)
	default:
		outcome, err = s.replay(within, r, c, dilation, algorithm)
	}
	fault, ended := s.ended()
	out.Limiter, out.Partial = s.Name, ctx.Err() != nil
	switch {
	case out.Partial:
		return out, nil
	case fault != nil:
		out.Verdict = fault.Error()
		return out, nil
	case ended != nil:
		return nil, ended
	case err != nil:
		return nil, err
	}
	out.Cases = append(out.Cases, outcome)
	return out, nil
}

// isAlgorithm reports whether the subject is a reaction point. It asks another program.
func (s *Subject) isAlgorithm(ctx context.Context, r *feedback.Recording) (bool, error) {
	if s.program == nil {
		return s.algorithm != nil, nil
	}
	s.program.Windows = slices.ContainsFunc(r.Entries, func(e feedback.Entry) bool { return e.Input.Kind == rp.AckInput })
	t, err := s.program.Begin(ctx, r.Line, r.Packet)
	if err != nil {
		s.began = err
		return false, nil
	}
	s.Name = t.Name
	s.algorithm = func(site rp.Site) (rp.Reaction, error) {
		t, err := s.program.Begin(ctx, site.Line, site.Length)
		if err != nil {
			return rp.Reaction{}, err
		}
		return t.Controller().Reaction(s.program.Windows), nil
	}
	if err := t.Close(); err != nil {
		s.began = err
	}
	return t.Algorithm, nil
}

// replay lets the subject pace a real source.
func (s *Subject) replay(ctx context.Context, r *feedback.Recording, c bench.Case, dilation int64, algorithm bool) (out Outcome,
	err error) {
	if r.Packet < wire.MinMSDU || r.Packet > wire.MaxMSDU {
		return out, errs.Errorf("the packets of the recording have %v; a source sends some of %d to %d bytes",
			r.Packet, wire.MinMSDU, wire.MaxMSDU)
	}
	recorded := c.Rates
	c.Rates = nil // the tape collects the rates of this run
	f := &feeder{entries: r.Entries, rate: r.Line}
	t := &tape{c: &c, gaps: hdrhistogram.New(1, 100_000_000, 3)}
	t.limiter, t.trace = node.NewInterPacketDelay(r.Line), draw(&c)
	if algorithm {
		if f.algorithm, err = s.algorithm(rp.Site{Line: r.Line, Length: r.Packet, Payload: r.Payload, Trip: r.Trip, Hops: r.Hops, Random: unit.NewRandom(1, 1)}); err != nil {
			return out, err
		}
		f.note(0)
	} else {
		t.limiter = s.New(r.Line)
	}
	clock := emu.VirtualClock
	if dilation > 0 {
		clock = emu.WallClock
	}
	result, err := t.pace(ctx, r, f, clock, dilation)
	if err != nil {
		return out, err
	}
	t.trace.recorded = recorded
	promised := 2 * r.Packet
	if b, ok := t.limiter.(interface{ Burst() unit.Size }); ok && b.Burst() > 0 {
		promised = max(b.Burst(), r.Packet)
	}
	measured := bench.Report{Starts: t.starts, Bytes: t.bytes, Promised: promised, Gaps: t.gaps, Burst: t.burst,
		Fairness: 1}
	for _, d := range t.trace.reactions {
		measured.Reaction = max(measured.Reaction, d.took)
	}
	out = outcomeOf(&c, clock, "", &measured, t.trace)
	during := bench.Case{Rates: recorded}
	seconds := (c.Duration - unit.Duration(r.Begin)).Seconds()
	out.Said = fmt.Sprintf("the reaction point accepted %d of %d frames of feedback; the source sent at %.4g Mb/s, and in the recorded run its limit was %.4g Mb/s on average; %s; the clock is %s, and the verdict on the run %s",
		f.accepted, f.accepted+f.refused, 8*float64(t.bytes)/seconds/1e6, 8*during.Through(r.Begin, r.End)/seconds/1e6, compare(r.Entries, f.limits), clock,
		result.Verdict.Level)
	return out, nil
}

// pace runs a scenario whose link has the recorded rate, and whose source is paced by the limiter
// and a reaction point.
func (t *tape) pace(ctx context.Context, r *feedback.Recording, c rp.Controller, clock emu.Clock, dilation int64) (
	*emu.Result, error) {
	s, err := resolve.Load("replay.yaml", []byte(fmt.Sprintf(`
name: replay
model: {duration: %v}
wall: {dilation: %d}
defaults:
  link: {rate: %v, flow-control: none}
endpoints: [a, b]
links: [a - b]
flows:
  - {name: paced, from: a, to: b, packet: %v, start: %v, jitter: 0s}
`, t.c.Duration, max(dilation, 1), r.Line, r.Packet, unit.Duration(r.Begin))), nil)
	if err != nil {
		return nil, err
	}
	o := emu.Options{Settings: emu.Settings{Clock: clock}, Verify: emu.VerifyOff, Schemes: emu.Schemes{
		Limiter:  func(*emu.Flow, unit.Rate) node.RateLimiter { return t },
		Reaction: func(*emu.Flow, unit.Rate) rp.Reaction { return rp.Reaction{Controller: c} },
	}}
	if clock == emu.WallClock {
		o.Timing = emu.ActualTiming
	}
	return emu.Run(ctx, s, o)
}

// feeder is a reaction point that hands recorded feedback to another one. Without another one, it
// has the recorded rates itself.
type feeder struct {
	algorithm         rp.Reaction
	entries           []feedback.Entry
	rate              unit.Rate
	accepted, refused int
	course            feedback.Course
	limits            []feedback.Entry // as the reaction point has them
}

// Sent passes a start on, unless the reaction point counts credit: then the recording has the
// starts, and the demand.
func (f *feeder) Sent(now unit.Time, n unit.Size) {
	if f.algorithm.Controller != nil && f.algorithm.Allowance == nil {
		f.algorithm.Sent(now, n)
		f.note(now)
	}
}

// note notes how the limits of the reaction point have changed.
func (f *feeder) note(now unit.Time) {
	changed, n := f.course.Take(f.algorithm.Limits())
	for _, x := range changed[:n] {
		f.limits = append(f.limits, feedback.Entry{At: now, Limit: x})
	}
}

// compare says whether limits are those of a recording.
func compare(recorded, got []feedback.Entry) string {
	i := 0
	for _, e := range recorded {
		if e.Input.Kind != rp.NoInput {
			continue
		}
		if i == len(got) || got[i].At != e.At || got[i].Limit != e.Limit {
			return fmt.Sprintf("its limits differ from the recorded ones from %v on", e.At)
		}
		i++
	}
	if i < len(got) {
		return fmt.Sprintf("its limits differ from the recorded ones from %v on", got[i].At)
	}
	return fmt.Sprintf("its limits changed as recorded, %s", terminal.Count(int64(i), "time"))
}

// Feedback ignores the fabric, which sends none.
func (*feeder) Feedback(unit.Time, wire.Frame) {}

// Advance hands over the recorded feedback that is due.
func (f *feeder) Advance(now unit.Time) {
	for ; len(f.entries) > 0 && f.entries[0].At <= now; f.entries = f.entries[1:] {
		e := &f.entries[0]
		switch in := &e.Input; {
		case in.Kind == rp.NoInput:
			if e.Limit.Of == feedback.RateLimit {
				f.rate = unit.Rate(e.Limit.Value)
			}
		case f.algorithm.Controller == nil:
		case in.Kind == rp.StartInput || in.Kind == rp.DemandInput:
			if f.algorithm.Allowance != nil {
				f.take(now, in)
			}
		case in.Kind == rp.FrameInput && f.algorithm.Refuses != nil && f.algorithm.Refuses(now, in.Frame) != trace.NoReason:
			f.refused++
		default:
			f.accepted++
			f.take(now, in)
		}
	}
	if f.algorithm.Controller != nil {
		f.algorithm.Advance(now)
		f.note(now)
	}
}

// take hands an input to the reaction point.
func (f *feeder) take(now unit.Time, in *rp.Input) {
	f.algorithm.Take(now, in)
	f.note(now)
}

// Rate returns the rate of the reaction point.
func (f *feeder) Rate() unit.Rate {
	if f.algorithm.Controller != nil {
		return f.algorithm.Rate()
	}
	return f.rate
}

// Deadline returns when feedback is due, or when the reaction point has to be advanced.
func (f *feeder) Deadline() unit.Time {
	t := unit.Never
	if f.algorithm.Controller != nil {
		t = f.algorithm.Deadline()
	}
	if len(f.entries) > 0 {
		t = min(t, f.entries[0].At)
	}
	return t
}

// tape is a limiter that passes all calls on, and records the starts.
type tape struct {
	limiter node.RateLimiter
	c       *bench.Case
	trace   *drawing
	gaps    *hdrhistogram.Histogram
	rate    unit.Rate
	starts  int
	bytes   unit.Size
	burst   unit.Size
	last    unit.Time // the last start
	size    unit.Size // its length; 0: the rate has changed since
}

// Next passes a question on.
func (t *tape) Next(now unit.Time, n unit.Size) unit.Time { return t.limiter.Next(now, n) }

// Sent passes a start on.
func (t *tape) Sent(now unit.Time, n unit.Size) {
	if t.size > 0 && t.rate > 0 {
		_ = t.gaps.RecordValue(int64(1000 * now.Sub(t.last).Seconds() / t.rate.Serialise(t.size).Seconds()))
	}
	t.starts, t.bytes, t.last, t.size = t.starts+1, t.bytes+n, now, n
	t.trace.add(bench.Start{At: now, Size: n, Rate: t.rate})
	t.burst = max(t.burst, unit.Size(t.trace.fill))
	t.limiter.Sent(now, n)
}

// SetRate passes a rate on.
func (t *tape) SetRate(now unit.Time, r unit.Rate) {
	t.rate, t.size = r, 0
	t.c.Rates = append(t.c.Rates, bench.Step{At: now, Rate: r})
	t.limiter.SetRate(now, r)
}
