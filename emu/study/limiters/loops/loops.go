package loops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu"
	"fabemu/emu/base/errs"
	"fabemu/emu/result/report"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/emu/study/limiters/bench"
	"fabemu/wire/unit"
)

// Loop is a situation for reaction points: a scenario.
type Loop struct {
	Name string // "loop/storm"
	Doc  string // its purpose, in one sentence

	Scenario string        // the name of the built-in scenario
	Late     unit.Duration // deadlines of reaction points are served up to so much later
}

// folder has the scenarios.
const folder = "loop/"

// All returns the loops: one for each scenario, and one whose deadlines are served late.
func All() (all []Loop) {
	for _, e := range builtin.List() {
		if strings.HasPrefix(e.Name, folder) {
			all = append(all, Loop{Name: e.Name, Doc: e.Description, Scenario: e.Name})
		}
	}
	const late = 10 * unit.Millisecond
	return append(all, Loop{Name: folder + "late", Doc: "As storm, and deadlines are served up to 10 ms late.",
		Scenario: folder + "storm", Late: late})
}

// Report holds the measurements of a loop. Shares are measured in the end, as the claims of the
// scenario say.
type Report struct {
	Loop        string
	Starts      int     // of packets
	Feedback    int     // frames of feedback that reaction points took in
	Utilisation float64 // used share of the bottleneck
	Held        float64 // share of the time in which flow control stopped the sources
	Fairness    float64 // Jain's index of the bytes that the sources sent
	// Reaction is the time from the first feedback of a storm until the rate falls, and
	// Recovery the time from the end of the storm until the rate is nine tenths of the link rate.
	// A negative one did not happen.
	Reaction, Recovery unit.Duration
	Lowest             unit.Rate // lowest rate of any source at any time

	Faults []bench.Fault // measurements that are out of their limits; a right reaction point has none
}

// String returns the figures on a line.
func (r *Report) String() string {
	s := fmt.Sprintf("%d starts, %d feedbacks, utilisation %.3f, held %.3f, fairness %.3f, lowest rate %v",
		r.Starts, r.Feedback, r.Utilisation, r.Held, r.Fairness, r.Lowest.InBits())
	if r.Reaction >= 0 {
		s += ", reaction " + unit.Text(r.Reaction)
	}
	if r.Recovery >= 0 {
		s += ", recovery " + unit.Text(r.Recovery)
	}
	return s
}

// criteria are the criteria of the claims of the scenarios.
var criteria = map[string]bench.Criterion{"used": bench.Recovery, "held": bench.Overshoot, "fair": bench.Fairness}

// Measure puts the reaction points of a subject into the loop. It ends at the first fault, or with
// the context.
func (l Loop) Measure(ctx context.Context, s *Subject) (*Report, error) {
	src, err := builtin.Read(l.Scenario)
	if err != nil {
		return nil, err
	}
	within, stop := context.WithCancel(ctx)
	defer stop()
	w := &watched{stop: stop, feedback: s.feedback, late: l.Late, random: unit.NewRandom(0, 2), out: Report{Loop: l.Name, Reaction: -1, Recovery: -1}}
	tables := s.watchedBy(w)
	of, err := resolve.Load(l.Scenario+".yaml", src, s.setsFor(strings.Contains(string(src), faults)), resolve.WithSchemes(tables))
	if err != nil {
		return nil, err
	}
	w.begins(of)
	r, err := emu.Run(within, of, emu.Options{Settings: emu.Settings{Clock: emu.VirtualClock, Loops: 1}})
	crashed := new(errs.Panic)
	switch {
	case errors.As(err, &crashed):
		w.fault(bench.Panic, nil, "%v", crashed)
	case err != nil && len(w.out.Faults) == 0:
		return nil, err
	}
	if len(w.out.Faults) == 0 {
		w.judge(r)
	}
	return &w.out, ctx.Err()
}

// judge takes over what the run has measured.
func (w *watched) judge(r *emu.Result) {
	var bytes []float64
	for i := range r.Flows {
		bytes = append(bytes, w.points[i].bytes)
	}
	if w.out.Fairness = 1; slices.Max(bytes) > 0 {
		w.out.Fairness = unit.Jain(bytes)
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		switch c.ID {
		case "used":
			w.out.Utilisation = float64(c.Value)
		case "held":
			w.out.Held = float64(c.Value)
		}
		if c.Outcome != report.Pass {
			w.fault(criteria[c.ID], w.points[0], "%s: it is %.3f, want %v to %v", c.Claim, c.Value, c.Low, c.High)
		}
	}
}

// storm returns when the switch of a scenario reports congestion that is not there; zero: never.
func storm(s *scenario.Scenario) (span bench.Span) {
	i := slices.IndexFunc(s.Events, func(e scenario.Event) bool {
		_, is := e.Act.(scenario.CongestionReport)
		return is
	})
	if i < 0 {
		return span
	}
	e := &s.Events[i]
	return bench.Span{From: unit.Time(e.At), To: unit.Time(e.At + e.Act.(scenario.CongestionReport).For)}
}
