package limiters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/host"
	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/program"
	"fabemu/emu/study/limiters/bench"
	"fabemu/wire/unit"
)

// Options select the cases.
type Options struct {
	// Run only these cases: a name, a pattern, or the part before the slash (default: all).
	//
	// Patterns are as in path.Match.
	Cases []string `flag:"case" group:"Measurement" arg:"CASE,..." needs:"!replay"`
	// Approximate limit on the packets of a case (default: none; 2000 for another program).
	Packets int `flag:"packets" arg:"N" needs:"!replay" low:"0" high:"1000000000"`
	// On the virtual clock, in real time over a socket (wall), or both.
	Clock mode.Clock `flag:"clock" needs:"!replay" def:"both" words:"virtual|wall|both"`
	// Repeat a case in real time that is not timed, because the machine is too busy, until it is,
	// or for this long.
	UntilTimed time.Duration  `flag:"until-timed" group:"Measurement" arg:"TIME" needs:"!replay"`
	Fabemu     string         // the version, for the report
	Done       func(*Outcome) // receives each outcome; may be nil

	judge func(*bench.Real) bool // reports whether the machine had the time; nil: bench.Real.Judged
}

// packetsOfPrograms is the largest number of packets of a case for another program.
const packetsOfPrograms = 2000

// Result holds the outcomes of a limiter.
type Result struct {
	Fabemu  string        `json:"fabemu"`
	Machine host.Computer `json:"machine"`
	Limiter string        `json:"limiter"`
	Note    string        `json:"note,omitempty"`
	Partial bool          `json:"partial,omitempty"` // it was ended early
	// Verdict is the reason why not all cases were run, or the fault of a program in a replay. It
	// is empty without one.
	Verdict string    `json:"verdict,omitempty"`
	Cases   []Outcome `json:"cases"`
	NotRun  []string  `json:"not_run,omitempty"` // names of the selected cases that were not run
	Loops   []Loop    `json:"loops,omitempty"`   // loops of a reaction point
	// Causes are the probable causes of the faults.
	Causes []bench.Cause `json:"causes,omitempty"`
}

// Good reports whether the result is complete and without faults.
func (r *Result) Good() bool {
	return r.Verdict == "" && !r.Partial &&
		!slices.ContainsFunc(r.Cases, func(o Outcome) bool { return len(o.Faults) > 0 }) &&
		!slices.ContainsFunc(r.Loops, func(l Loop) bool { return len(l.Faults) > 0 })
}

// Timed reports whether the machine had the time for each case in real time.
func (r *Result) Timed() bool {
	return !slices.ContainsFunc(r.Cases, func(o Outcome) bool { return !o.timed() })
}

// hopeless is the number of failed cases from the start on after which the rest is not run: waiting
// for the program in each would take long.
const hopeless = 3

// Run puts a limiter into cases. Where another program breaks the protocol, or does not answer, the
// case fails, and the next case begins another process of it, or another connection. An error is a
// mistake of the user.
func Run(ctx context.Context, s *Subject, o Options) (*Result, error) {
	if s.algorithm != nil {
		return runAlgorithm(ctx, s, o)
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
		var measured *bench.Report
		var fault *program.Fault
		var err, failed error
		for began := time.Now(); ; {
			within, done := s.begins(ctx, c.Longest())
			measured, failed = c.measure(within, s, c.Case, trace.add)
			fault, err = s.ended()
			done()
			if fault != nil || err != nil || failed != nil || ctx.Err() != nil || o.timed(measured) || time.Since(began) >= o.UntilTimed {
				break
			}
		}
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
		if s.program != nil {
			measured.Rename(bench.Contract, bench.Program)
		}
		var out Outcome
		if fault != nil { // the figures mean nothing
			out = outcomeOf(&c.Case, c.clock, smaller, &bench.Report{Fairness: math.NaN()}, nil)
			f := bench.Fault{Criterion: bench.Program, Rule: string(fault.Rule), Text: fault.Error()}
			out.Faults = []Fault{{f, fmt.Sprintf("%s (%s): %v", bench.Program, fault.Rule, fault)}}
		} else {
			out = outcomeOf(&c.Case, c.clock, smaller, measured, trace)
			finished++
		}
		r.Cases = append(r.Cases, out)
		if o.Done != nil {
			o.Done(&out)
		}
		if left := cases[i+1:]; finished == 0 && i+1 == hopeless && len(left) > 0 {
			r.Verdict, r.NotRun = fmt.Sprintf("the program did not reach the end of any of %d cases", hopeless), names(left)
			break
		}
	}
	r.Limiter = cmp.Or(s.Name, "a program without a name")
	if finished > 0 && !r.Partial && slices.ContainsFunc(r.Cases, Outcome.faultOfLimiter) {
		r.Causes = s.causes(ctx, packetsOfPrograms)
	}
	return r, nil
}

// timed reports whether the machine had the time for the measurement, if it is in real time.
func (o *Options) timed(r *bench.Report) bool {
	return r.Real == nil || o.judge == nil && r.Real.Judged() || o.judge != nil && o.judge(r.Real)
}

// faultOfLimiter reports whether a case has a fault whose cause experiments may find. They are not
// for faults in real time, which depend on the machine.
func (o Outcome) faultOfLimiter() bool {
	return o.Clock == mode.VirtualClock && o.trace != nil && o.Faults != nil
}

// causes looks for the causes of the faults. Another program is asked for some packets only.
func (s *Subject) causes(ctx context.Context, most int) []bench.Cause {
	if s.program == nil {
		return bench.Causes(bench.Of(s.New), 0)
	}
	return bench.Causes(func(longest unit.Size) (bench.New, func() bool) {
		within, done := s.begins(ctx, longest)
		return s.New, func() bool {
			fault, err := s.ended()
			whole := fault == nil && err == nil && within.Err() == nil
			done()
			return whole
		}
	}, most)
}

func names(cases []situation) (names []string) {
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return names
}

// situation is a case on a clock.
type situation struct {
	bench.Case
	clock   mode.Clock
	measure func(ctx context.Context, s *Subject, c bench.Case, each func(bench.Start)) (*bench.Report, error)
}

// casesOf returns the cases on a clock, or on both.
func casesOf(clock mode.Clock) (all []situation) {
	for _, kind := range []struct {
		cases []bench.Case
		situation
	}{
		{bench.Cases(), situation{clock: mode.VirtualClock,
			measure: func(_ context.Context, s *Subject, c bench.Case, each func(bench.Start)) (*bench.Report, error) {
				return bench.Measure(s.New, c, each), nil
			}}},
		{bench.RealCases(), situation{clock: mode.WallClock, // over a socket
			measure: func(ctx context.Context, s *Subject, c bench.Case, each func(bench.Start)) (*bench.Report, error) {
				return bench.MeasureReal(ctx, s.New, c, s.program != nil, each)
			}}},
	} {
		for _, c := range kind.cases {
			if kind.Case = c; clock == "" || clock == kind.clock {
				all = append(all, kind.situation)
			}
		}
	}
	return all
}

// pick returns the elements whose names match patterns.
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
				return nil, errs.Errorf("%q is not a pattern: %w", p, err)
			}
			if matches || strings.HasPrefix(name, strings.TrimSuffix(p, "/")+"/") {
				picked[i], found = true, true
			}
		}
		if !found {
			return nil, errs.Errorf("there is no case %q: there are %s", p, strings.Join(names, ", "))
		}
	}
	for i, x := range all {
		if picked[i] {
			out = append(out, x)
		}
	}
	return out, nil
}

const (
	// fairPackets is how many packets each of several limiters needs, so that one packet does not
	// matter for fairness.
	fairPackets = 60
	// tiny is the highest rate that brief does not lower: a case has it because it is low.
	tiny = 1000 * unit.BitPerSecond
)

// brief returns a case with about most packets, and a description of the change. It cuts the time
// of a uniform case, and lowers the rates of others. With 0 there is no limit.
func (c situation) brief(most int) (situation, string) {
	if c.clock == mode.WallClock {
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

// packets returns the approximate number of packets of a case.
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

// Outcome is the result of a case.
type Outcome struct {
	Case          string        `json:"case"`
	Doc           string        `json:"doc"`
	Smaller       string        `json:"smaller,omitempty"` // description of the reduction of its packets
	Clock         mode.Clock    `json:"clock"`
	Packets       int           `json:"packets"`
	Bytes         int64         `json:"bytes"`
	PromisedBytes int64         `json:"promised_bytes"`
	Windows       []Window      `json:"windows"`
	Gaps          Gaps          `json:"gaps"`
	BurstBytes    int64         `json:"burst_bytes"`
	WithheldBytes int64         `json:"withheld_bytes"`
	CreditBytes   *int64        `json:"credit_bytes,omitempty"` // after rests, if there are any
	ReactionPs    int64         `json:"reaction_ps"`
	Overshoot     *int64        `json:"overshoot_bytes,omitempty"` // where the rate fell
	Fairness      report.Number `json:"fairness"`
	Said          string        `json:"said,omitempty"` // remark
	Real          *Real         `json:"real,omitempty"`
	Judged        bool          `json:"judged"` // false: a caller has measured it without limits
	Faults        []Fault       `json:"faults,omitempty"`

	trace *drawing // nil: nothing was measured
}

// Real is the measurement in real time.
type Real struct {
	Judged bool `json:"judged"` // false: the machine was late for the ideal limiter too
	bench.Real
}

// Window is the relative error of the rate over a number of packets, the lowest and the highest.
type Window struct {
	Packets int           `json:"packets"`
	Low     report.Number `json:"low"`
	High    report.Number `json:"high"`
}

// Gaps are the times from start to start over the time at the rate.
type Gaps struct {
	Count int64         `json:"count"`
	P1    report.Number `json:"p1"`
	P50   report.Number `json:"p50"`
	P99   report.Number `json:"p99"`
	Max   report.Number `json:"max"`
	Bins  []Bin         `json:"bins,omitempty"`
}

// Bin counts the gaps from Low up to High.
type Bin struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Count int64   `json:"count"`
}

// Fault is a measure that is out of its limit.
type Fault struct {
	bench.Fault
	Around string `json:"around"` // the fault with the packets before it
}

// faultsOf adds the packets around them to faults.
func faultsOf(all []bench.Fault) (faults []Fault) {
	for _, f := range all {
		faults = append(faults, Fault{f, f.String()})
	}
	return faults
}

// outcomeOf converts a report of the bench. Without a drawing nothing was measured.
func outcomeOf(c *bench.Case, clock mode.Clock, smaller string, r *bench.Report, t *drawing) Outcome {
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
		o.CreditBytes = new(int64(r.Credit))
	}
	if r.Lowered {
		o.Overshoot = new(int64(r.Overshoot))
	}
	if w := r.Real; w != nil {
		o.Real = &Real{w.Judged(), *w}
	}
	o.Faults = faultsOf(r.Faults)
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
