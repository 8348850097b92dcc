package observe

import (
	"cmp"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// An Observer receives snapshots of a run.
type Observer interface {
	// Observe receives one snapshot after another, on a goroutine of the observer's own. The
	// snapshot, with everything it points to, belongs to the observer until Observe returns.
	Observe(*Snapshot)
}

// Func is a function that is an Observer.
type Func func(*Snapshot)

// Observe calls f.
func (f Func) Observe(s *Snapshot) { f(s) }

// Request describes an observer of a run, and the snapshots that it needs.
type Request struct {
	Name     string // for messages; without a name there is no warning of missed snapshots
	Observer Observer
	// Every is the wall time from one snapshot to the next, at least. Default: 200 ms; at least 10
	// ms.
	Every time.Duration
	// Ask, if not nil, takes the place of Every: each value that it yields asks for one snapshot,
	// of a later instant. So an idle observer costs the run nothing. The last snapshot comes
	// unasked.
	Ask <-chan struct{}
	// Events are the kinds of events that snapshots contain. Kinds that each frame causes, such as
	// trace.Start, are many: a snapshot has room for EventRoom events.
	Events []trace.Kind
}

const (
	defaultEvery = 200 * time.Millisecond
	leastEvery   = 10 * time.Millisecond
)

// EventRoom is the greatest number of events in a snapshot.
const EventRoom = 4096

// Check returns a mistake of the user's in a request.
func (q *Request) Check() error {
	switch {
	case q.Observer == nil:
		return errs.Errorf("a request to observe a run has no observer")
	case q.Every != 0 && q.Every < leastEvery:
		return errs.Errorf("%s: a snapshot every %v: %v is the least", q.name(), q.Every, leastEvery)
	}
	return nil
}

func (q *Request) name() string { return cmp.Or(q.Name, "observer") }

// Snapshot is a run at an instant.
type Snapshot struct {
	Number int64 // from 1
	Missed int64 // snapshots that came while this observer was busy
	Last   bool  // the run has ended

	Now, End unit.Time     // model time
	Wall     time.Duration // since the start of the run
	mode.Settings
	Fabric   *fabric.Fabric     // as it was laid out
	Scenario *scenario.Scenario // with the events that have come while it runs

	Figures *metrics.View       // over a time complete up to Figures.End
	Ports   []metrics.PortState // at Now, by node and number: see Port
	Flows   []metrics.FlowState // at Now, in the order of Fabric.Flows

	Stalls    []Stall             // outputs that flow control stops at Now
	ByPaths   bool                // the causes follow only from the paths of flows
	Cut       bool                // some stalls are missing for lack of room
	Trees     []Tree              // the congestion trees, those with the most flows first
	Deadlocks []deadlock.Deadlock // that were found so far
	Storms    []metrics.Storm     // that watchdogs have found so far
	Silent    []pace.Silent       // parts in other processes that do not answer
	Adapters  []guest.Adapter     // of guests, at Now

	// Level and Reason are the verdict so far, and Verdict its figures; the lateness of frames has
	// P99 and Max alone, in T. Level is empty where it is not known before the end.
	Level   report.Level
	Reason  string
	Verdict report.Figures
	Checks  []Check // in the order of Scenario.Expect

	Events       []trace.Event // since the last snapshot, of the kinds in the request
	EventsMissed int64         // without room, since the start

	first []int // number of the first port of each node
}

// Port returns the state of a port of a node.
func (s *Snapshot) Port(node int, p port.ID) *metrics.PortState {
	return &s.Ports[s.first[node]+int(p)]
}

// Link returns the state of the port that sends into a direction of a wire.
func (s *Snapshot) Link(h fabric.Hop) *metrics.PortState {
	end := s.Fabric.Wires[h.Wire].Ends[h.From]
	return s.Port(end.Node, end.Port)
}

// Check is a claim of the scenario, and its outcome if that is known.
type Check struct {
	report.Check      // without an outcome until it is decided
	Decided      bool // the time of its measurement has passed
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
