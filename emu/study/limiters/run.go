package limiters

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"fabemu/emu/host"
	"fabemu/emu/mistake"
	"fabemu/emu/report"
	"fabemu/emu/study/bench"
	"fabemu/wire/unit"
)

// Options say what is measured.
type Options struct {
	// Cases are patterns of the names of cases, as path.Match has them; one that ends with
	// a slash, or is the first part of a name, is all that begin with it. None: all.
	Cases []string
	// Packets is how many packets a case has at most, about; 0: as many as it has, and of
	// another program's limiter a few thousand.
	Packets int
	// Clock is WallClock or VirtualClock; empty: both. On the wall clock the limiter paces a
	// real source over sockets, in a fabric that is slowed down and, without one, in real time.
	Clock  report.Clock
	Fabemu string         // the version, for the report
	Done   func(*Outcome) // is told of each case; may be nil
}

// packetsOfPrograms is how many packets a case has at most if each asks another program.
const packetsOfPrograms = 2000

// Result is what came out of a limiter.
type Result struct {
	Fabemu  string        `json:"fabemu"`
	Machine host.Computer `json:"machine"`
	Limiter string        `json:"limiter"`
	Note    string        `json:"note,omitempty"`
	Partial bool          `json:"partial,omitempty"` // it was ended early
	// Verdict says why not all cases were run, or what a program has done in a replay that it may
	// not do; empty: nothing.
	Verdict string    `json:"verdict,omitempty"`
	Cases   []Outcome `json:"cases"`
	NotRun  []string  `json:"not_run,omitempty"` // the names of the cases that were to be run, and were not
	Loops   []Loop    `json:"loops,omitempty"`   // of a reaction point
}

// Good reports whether nothing was found at fault.
func (r *Result) Good() bool {
	return r.Verdict == "" && !r.Partial &&
		!slices.ContainsFunc(r.Cases, func(o Outcome) bool { return len(o.Faults) > 0 }) &&
		!slices.ContainsFunc(r.Loops, func(l Loop) bool { return len(l.Faults) > 0 })
}

// hopeless is in how many cases a program may fail, while it has come to the end of none, before
// the rest is not run: each of these would have to be waited for.
const hopeless = 3

// Run puts a limiter into cases. In a case in which a program does what it may not do, or does
// not answer, it fails, and the next case has another process, or another connection, of it. An
// error is the user's to mend.
func Run(ctx context.Context, s *Subject, o Options) (*Result, error) {
	if s.law != nil {
		return runLaw(ctx, s, o)
	}
	cases, err := pick(casesOf(o.Clock), func(c situation) string { return c.Name }, o.Cases)
	if err != nil {
		return nil, err
	}
	most := o.Packets
	if most == 0 && s.program != nil {
		most = packetsOfPrograms
	}
	r := &Result{Fabemu: o.Fabemu, Machine: host.ThisComputer(), Note: s.Note, Cases: []Outcome{}}
	finished := 0
	for i, c := range cases {
		c, smaller := c.brief(most)
		trace := draw(&c.Case)
		within, done := s.begins(ctx)
		measured, failed := c.measure(within, s, trace.add)
		fault, err := s.ended()
		done()
		if r.Partial = ctx.Err() != nil; r.Partial {
			r.NotRun = names(cases[i:])
			break
		}
		if err := errors.Join(err, failed); err != nil {
			if len(r.Cases) == 0 {
				return nil, err
			}
			r.Verdict, r.NotRun = fmt.Sprintf("in case %s: %v", c.Name, err), names(cases[i:])
			break
		}
		var out Outcome
		if fault != nil { // the figures are not those of its limiter
			out = outcomeOf(&c.Case, c.clock(), smaller, &bench.Report{Fairness: math.NaN()}, nil)
			out.Faults = []Fault{{Criterion: bench.Program, Text: fault.Error(),
				Around: fmt.Sprintf("%s: %v", bench.Program, fault)}}
		} else {
			out = outcomeOf(&c.Case, c.clock(), smaller, measured, trace)
			finished++
		}
		r.Cases = append(r.Cases, out)
		if o.Done != nil {
			o.Done(&out)
		}
		if left := cases[i+1:]; finished == 0 && i+1 == hopeless && len(left) > 0 {
			r.Verdict, r.NotRun = fmt.Sprintf("the program has not come to the end of any of %d cases", hopeless), names(left)
			break
		}
	}
	r.Limiter = s.Name
	if r.Limiter == "" {
		r.Limiter = "a program that did not say what it is"
	}
	return r, nil
}

// names returns those of cases.
func names(cases []situation) (names []string) {
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return names
}

// situation is a case on a clock.
type situation struct {
	bench.Case
	wall bool // over sockets
	real bool // at a dilation of 1, without a fabric
}

// casesOf returns the cases on a clock, or on both.
func casesOf(clock report.Clock) []situation {
	var all []situation
	if clock != report.WallClock {
		for _, c := range bench.Cases() {
			all = append(all, situation{Case: c})
		}
	}
	if clock != report.VirtualClock {
		for _, c := range bench.WallCases() {
			all = append(all, situation{Case: c, wall: true})
		}
		for _, c := range bench.RealCases() {
			all = append(all, situation{Case: c, wall: true, real: true})
		}
	}
	return all
}

// clock returns the one that the case is on.
func (c *situation) clock() report.Clock {
	if c.wall {
		return report.WallClock
	}
	return report.VirtualClock
}

// measure puts a limiter into the case.
func (c *situation) measure(ctx context.Context, s *Subject, each func(bench.Start)) (*bench.Report, error) {
	if !c.wall {
		return bench.Measure(s.New, c.Case, each), nil
	}
	if c.real {
		return bench.MeasureReal(ctx, s.New, c.Case, s.program != nil, each)
	}
	r, err := bench.MeasureWall(ctx, s.New, c.Case, each)
	if err == nil && s.program != nil { // that its calls take long is the way to it
		r.Faults = slices.DeleteFunc(r.Faults, func(f bench.Fault) bool { return f.Criterion == bench.Blocks })
	}
	return r, err
}

// pick returns those whose names patterns name.
func pick[T any](all []T, nameOf func(T) string, patterns []string) (out []T, err error) {
	if len(patterns) == 0 {
		return all, nil
	}
	var names []string
	for _, x := range all {
		names = append(names, nameOf(x))
	}
	picked := make([]bool, len(all))
	for _, p := range patterns {
		found := false
		for i, name := range names {
			matches, err := path.Match(p, name)
			if err != nil {
				return nil, mistake.Errorf("%q is no pattern: %w", p, err)
			}
			if matches || strings.HasPrefix(name, strings.TrimSuffix(p, "/")+"/") {
				picked[i], found = true, true
			}
		}
		if !found {
			return nil, mistake.Errorf("there is no case %q: there are %s", p, list(names))
		}
	}
	for i, x := range all {
		if picked[i] {
			out = append(out, x)
		}
	}
	return out, nil
}

// list joins names.
func list(names []string) string { return strings.Join(names, ", ") }

const (
	// fairPackets is how many packets each of several limiters needs at least for one more or
	// less not to matter.
	fairPackets = 60
	// tiny are rates that are in a case because they are: they stay.
	tiny = 1000 * unit.BitPerSecond
)

// brief returns a case with about so many packets at most, and what was done for that: the
// time is cut where all of it is alike, else the rates are lower. 0 is any number.
func (c situation) brief(most int) (situation, string) {
	if c.wall {
		return c, ""
	}
	var smaller string
	if n := len(c.Rates); most > 0 && n > most { // a storm, and then one rate
		last := bench.Step{At: c.Rates[most].At, Rate: c.Rates[n-1].Rate}
		c.Rates = append(slices.Clone(c.Rates[:most]), last)
		c.Duration = c.Duration.Scale(int64(most), int64(n))
		smaller = fmt.Sprintf("a %dth of the changes of the rate", n/most)
	}
	factor := int64(packets(&c.Case) / float64(max(most, fairPackets*c.Limiters, 1)))
	if most <= 0 || factor <= 1 {
		return c, smaller
	}
	if len(c.Rates) == 1 && c.Idle == nil && c.Duration < unit.Second*3600 {
		c.Duration /= unit.Duration(factor)
		return c, fmt.Sprintf("a %dth of the time", factor)
	}
	c.Line /= unit.Rate(factor)
	c.Rates = slices.Clone(c.Rates)
	for i := range c.Rates {
		if c.Rates[i].Rate > tiny {
			c.Rates[i].Rate /= unit.Rate(factor)
		}
	}
	if smaller != "" {
		smaller += ", and "
	}
	return c, smaller + fmt.Sprintf("a %dth of the rates", factor)
}

// packets returns how many packets a case has, about.
func packets(c *bench.Case) float64 {
	mean := 1500.0
	if c.Sizes != nil {
		sum := unit.Size(0)
		for _, n := range c.Sizes {
			sum += n
		}
		mean = float64(sum) / float64(len(c.Sizes))
	}
	return c.Through(0, unit.Time(c.Duration)) / mean * float64(max(c.Limiters, 1))
}

// Outcome is what came out of a case.
type Outcome struct {
	Case          string        `json:"case"`
	Doc           string        `json:"doc"`
	Smaller       string        `json:"smaller,omitempty"` // what was done to have fewer packets
	Clock         report.Clock  `json:"clock"`
	Packets       int           `json:"packets"`
	Bytes         int64         `json:"bytes"`
	PromisedBytes int64         `json:"promised_bytes"`
	Windows       []Window      `json:"windows"`
	Gaps          Gaps          `json:"gaps"`
	BurstBytes    int64         `json:"burst_bytes"`
	WithheldBytes int64         `json:"withheld_bytes"`
	CreditBytes   *int64        `json:"credit_bytes,omitempty"` // after rests, where there are any
	ReactionPs    int64         `json:"reaction_ps"`
	Overshoot     *int64        `json:"overshoot_bytes,omitempty"` // where the rate fell
	Fairness      report.Number `json:"fairness"`
	Said          string        `json:"said,omitempty"` // what else is to be known
	Wall          *Wall         `json:"wall,omitempty"`
	Real          *Real         `json:"real,omitempty"`
	Judged        bool          `json:"judged"`
	Faults        []Fault       `json:"faults,omitempty"` // where it is judged

	trace *drawing // nil: nothing was measured
}

// Wall is how the limiter kept to the wall clock, beside an ideal one at the same time: how
// far apart packets started, over what they are at the rate; how late they were, and how
// long the calls for one took, the medians.
type Wall struct {
	Dilation int64         `json:"dilation"`
	GapIdeal report.Number `json:"gap_ideal"`
	Gap      report.Number `json:"gap"`
	LateNs   int64         `json:"late_ns"`
	CallsNs  int64         `json:"calls_ns"`
}

// Real is how starts kept to real time, at a dilation of 1: those of the limiter, of an ideal one,
// of that where its source waits by time.Sleep, and those of a limiter of another program on a
// clock that stands still in calls to it.
type Real struct {
	Judged  bool    `json:"judged"` // else the computer had no time for the ideal one either
	Limiter Starts  `json:"limiter"`
	Ideal   Starts  `json:"ideal"`
	Sleep   Starts  `json:"time_sleep"`
	Apart   *Starts `json:"without_the_protocol,omitempty"`
}

// Starts has gaps over what they are at the rate: the mean of the middle half, 1 % and 99 %; by how
// much later than the limiter gave packets were with the kernel, and how long the calls for
// one took: half and 99 %.
type Starts struct {
	Packets    int           `json:"packets"`
	Gap        report.Number `json:"gap"`
	GapP1      report.Number `json:"gap_p1"`
	GapP99     report.Number `json:"gap_p99"`
	LateP50Ns  int64         `json:"late_p50_ns"`
	LateP99Ns  int64         `json:"late_p99_ns"`
	CallsP50Ns int64         `json:"calls_p50_ns"`
	CallsP99Ns int64         `json:"calls_p99_ns"`
}

// startsOf reads what the bench has measured.
func startsOf(s *bench.Starts) *Starts {
	if s == nil {
		return nil
	}
	return &Starts{s.Packets, report.Number(s.Gap), report.Number(s.Shortest), report.Number(s.Longest),
		int64(s.Late), int64(s.LateP99), int64(s.Calls), int64(s.CallsP99)}
}

// Window says by which share of it the rate over so many packets is off, at the least and
// at the most.
type Window struct {
	Packets int           `json:"packets"`
	Low     report.Number `json:"low"`
	High    report.Number `json:"high"`
}

// Gaps are the times from start to start, over what they would be at the rate.
type Gaps struct {
	Count int64         `json:"count"`
	P1    report.Number `json:"p1"`
	P50   report.Number `json:"p50"`
	P99   report.Number `json:"p99"`
	Max   report.Number `json:"max"`
	Bins  []Bin         `json:"bins,omitempty"`
}

// Bin is how many gaps are from Low up to High.
type Bin struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int64   `json:"count"`
}

// Fault is a measure that is out of its limit.
type Fault struct {
	Criterion bench.Criterion `json:"criterion"`
	AtPs      int64           `json:"at_ps"`
	Text      string          `json:"text"`
	Around    string          `json:"around"` // the packets before it, with it
}

// outcomeOf reads a report of the bench; without a drawing nothing was measured.
func outcomeOf(c *bench.Case, clock report.Clock, smaller string, r *bench.Report, t *drawing) Outcome {
	o := Outcome{
		Case: c.Name, Doc: c.Doc, Smaller: smaller, Clock: clock, Packets: r.Starts, Bytes: int64(r.Bytes),
		PromisedBytes: int64(r.Promised),
		Judged:        true, BurstBytes: int64(r.Burst), WithheldBytes: int64(r.Withheld),
		ReactionPs: int64(r.Reaction), Fairness: report.Number(r.Fairness), trace: t,
	}
	if t == nil { // nothing was measured
		return o
	}
	for _, w := range r.Windows {
		o.Windows = append(o.Windows, Window{w.Packets, report.Number(w.Low), report.Number(w.High)})
	}
	if r.Rests > 0 {
		credit := int64(r.Credit)
		o.CreditBytes = &credit
	}
	if r.Lowered {
		over := int64(r.Overshoot)
		o.Overshoot = &over
	}
	if w := r.Wall; w != nil {
		o.Wall = &Wall{w.Dilation, report.Number(w.Ideal.Gap), report.Number(w.Limiter.Gap), int64(w.Limiter.Late),
			int64(w.Limiter.Calls)}
	}
	if w := r.Real; w != nil {
		o.Real = &Real{w.Judged(), *startsOf(&w.Limiter), *startsOf(&w.Ideal), *startsOf(&w.Sleep), startsOf(w.Apart)}
	}
	for _, f := range r.Faults {
		o.Faults = append(o.Faults, Fault{f.Criterion, int64(f.At), f.Text, f.String()})
	}
	if h := r.Gaps; h != nil {
		share := func(q float64) report.Number {
			if h.TotalCount() == 0 {
				return report.Missing()
			}
			return report.Number(float64(h.ValueAtQuantile(q)) / 1000)
		}
		o.Gaps = Gaps{Count: h.TotalCount(), P1: share(1), P50: share(50), P99: share(99), Max: share(100)}
		for _, b := range h.Distribution() {
			if b.Count > 0 {
				o.Gaps.Bins = append(o.Gaps.Bins, Bin{float64(b.From) / 1000, float64(b.To+1) / 1000, b.Count})
			}
		}
	}
	return o
}
