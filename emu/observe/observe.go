package observe

import (
	"fmt"
	"time"

	"fabemu/emu/deadlock"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/mistake"
	"fabemu/emu/report"
	"fabemu/emu/scenario"
	"fabemu/emu/timing"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// An Observer is shown a run.
type Observer interface {
	// Observe is called with one snapshot after another, on a goroutine of the observer's own.
	// The snapshot, with all that it points to, is the observer's until Observe returns.
	Observe(*Snapshot)
}

// Func is a function that is an Observer.
type Func func(*Snapshot)

// Observe calls f.
func (f Func) Observe(s *Snapshot) { f(s) }

// Request says who observes a run, and what they want.
type Request struct {
	Name     string // for messages; what one without a name is too slow for, nobody is told
	Observer Observer
	// Every is the wall time from one snapshot to the next, at the least. Default: 200 ms; at
	// least 10 ms.
	Every time.Duration
	// Events are the kinds of events that snapshots have. Kinds of each frame, such as
	// trace.Start, are many: a snapshot has room for EventRoom events.
	Events []trace.Kind
}

const (
	defaultEvery = 200 * time.Millisecond
	leastEvery   = 10 * time.Millisecond
)

// EventRoom is how many events there are in a snapshot at the most.
const EventRoom = 4096

// Check refuses a request that cannot be met. The error is the user's to mend.
func (q *Request) Check() error {
	switch {
	case q.Observer == nil:
		return mistake.Errorf("a request to observe a run has no observer")
	case q.Every != 0 && q.Every < leastEvery:
		return mistake.Errorf("%s: a snapshot every %v: %v is the least", q.name(), q.Every, leastEvery)
	}
	return nil
}

func (q *Request) name() string {
	if q.Name == "" {
		return "observer"
	}
	return q.Name
}

// Snapshot is a run at an instant.
type Snapshot struct {
	Number int64 // from 1
	Missed int64 // how many snapshots this observer was too slow for
	Last   bool  // the run has ended

	Now, End unit.Time     // model time
	Wall     time.Duration // since the begin of the run
	Clock    report.Clock
	Dilation int64              // wall clock
	Fabric   *fabric.Fabric     // as it was laid out
	Scenario *scenario.Scenario // with the events that have come while it runs

	Figures *metrics.View       // complete up to Figures.End
	Ports   []metrics.PortState // at Now, by machine and number: see Port
	Flows   []metrics.FlowState // at Now, in the order of Fabric.Flows

	Stalls    []Stall             // what flow control keeps back at Now
	ByWays    bool                // who keeps it is told by the ways of flows alone
	Cut       bool                // there was more than Stalls could be told of
	Trees     []Tree              // the congestion trees, those with the most flows first
	Deadlocks []deadlock.Deadlock // that were found so far
	Silent    []timing.Silent     // parts in other processes that do not answer

	// Level and Reason are the verdict so far, and Verdict what it rests on; of the lateness of
	// frames P99 and Max, in T. Level is empty where it is not known before the end.
	Level   report.Level
	Reason  string
	Verdict report.Figures
	Checks  []Check // in the order of Scenario.Expect

	Events       []trace.Event // since the last snapshot, of the kinds that were asked for
	EventsMissed int64         // for which there was no room, since the begin

	first []int // number of the first port of each machine
}

// Port returns the state of a port of a machine.
func (s *Snapshot) Port(machine int, p port.ID) *metrics.PortState {
	return &s.Ports[s.first[machine]+int(p)]
}

// Link returns the state of the port that sends into a direction of a wire.
func (s *Snapshot) Link(h fabric.Hop) *metrics.PortState {
	end := s.Fabric.Wires[h.Wire].Ends[h.From]
	return s.Port(end.Machine, end.Port)
}

// Check is a claim of the scenario, and how it came out as far as that is known.
type Check struct {
	report.Check      // without an outcome until it is decided
	Decided      bool // what it is taken over has passed
}

// judge decides the checks that can be.
func judge(v *metrics.View, s *scenario.Scenario, checks []Check) []Check {
	for i := range s.Expect {
		if i == len(checks) {
			checks = append(checks, Check{})
		}
		c := &checks[i]
		if c.Decided {
			continue
		}
		var value float64
		value, c.Decided = v.Check(i)
		if c.Check = report.JudgeCheck(&s.Expect[i], value, ""); !c.Decided {
			c.Outcome, c.Reason = "", ""
		}
	}
	return checks
}

// slow says what an observer has missed.
func slow(name string, missed, events int64) string {
	what := fmt.Sprintf("%d snapshots", missed)
	if events > 0 {
		what += fmt.Sprintf(" and %d events", events)
	}
	return fmt.Sprintf("%s missed %s: they came faster than it took them", name, what)
}
