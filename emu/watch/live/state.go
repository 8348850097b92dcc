package live

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/guest"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
	"fabemu/switchd"
	"fabemu/wire/unit"
)

// State is a run at an instant. Pages, which read it in a Moment, and programs, which read it in a
// Status, see the same.
type State struct {
	ModelPs int64        `json:"model_ps"`
	WallMs  int64        `json:"wall_ms"`
	Verdict report.Level `json:"verdict,omitempty"` // so far; empty: not known
	Why     string       `json:"why,omitempty"`     // sentences
	Late    Figure       `json:"late"`              // share of data frames that left late
	Floor   Figure       `json:"floor"`             // the same share for a loop that only waits

	Active    []ActiveFault    `json:"active"` // faults and storms that go on, queue pairs that have failed
	Deadlocks []Deadlock       `json:"deadlocks,omitempty"`
	Roots     []Root           `json:"roots,omitempty"`
	Checks    []CheckStatus    `json:"checks,omitempty"`  // in the order of the scenario
	Dropped   map[string]int64 `json:"dropped,omitempty"` // frames, by the reason

	RoCE map[string]guest.RoCECounts `json:"roce,omitempty"` // the counters of adapters, by the guest
}

// ActiveFault is a fault that has not ended, a storm that a watchdog has found, or a queue pair
// that has failed.
type ActiveFault struct {
	SincePs int64  `json:"since_ps"`
	Text    string `json:"text"`
	Words   string `json:"words,omitempty"` // of a storm, or a failure: a sentence about what it means for frames
}

// Deadlock is a cycle of directions of links, each of which waits for the next.
type Deadlock struct {
	AtPs  int64    `json:"at_ps"`
	Links []string `json:"links"` // "trunk.A-B"
	Words string   `json:"words"`
}

// Root is the end of a chain of waiting: a direction of a link, or a node that takes nothing in.
type Root struct {
	Link    string   `json:"link,omitempty"` // "trunk.A-B"; empty: the node
	Node    string   `json:"node"`
	Victims []string `json:"victims,omitempty"` // the flows that wait for it and do not go through it
	Words   string   `json:"words"`
}

// CheckStatus is a check of a run and its outcome, empty until it is decided.
type CheckStatus struct {
	ID     string         `json:"id"`
	Metric string         `json:"metric"`
	State  report.Outcome `json:"state"`
	Value  report.Number  `json:"value"`
	Came   string         `json:"came,omitempty"` // the value as text, with its unit
}

// found are what the nodes of a run have found.
type found struct {
	storms    []report.Storm
	deadlocks []report.Deadlock
	failures  []report.Failure
}

// newState returns the part of a state that follows from a scenario, what was found, the verdict,
// and an instant.
func newState(changes []scenario.Change, is found, v *report.Verdict, now unit.Time) State {
	x := State{ModelPs: int64(now), Verdict: v.Level, Why: v.Sentence(), Late: Figure(v.Pace.LateShare),
		Floor: Figure(v.Pace.FloorShare), Active: []ActiveFault{}}
	if v.Programs != nil { // they see no frame that leaves
		x.Late, x.Floor = Figure(report.Missing()), Figure(report.Missing())
	}
	for _, f := range scenario.Active(changes, now) {
		x.Active = append(x.Active, ActiveFault{SincePs: int64(f.At), Text: f.What})
	}
	for _, t := range is.storms {
		if t.FromPs <= int64(now) && (t.ToPs == 0 || t.ToPs > int64(now)) {
			x.Active = append(x.Active, ActiveFault{t.FromPs, stormText(&t), stormWords(&t)})
		}
	}
	for _, q := range is.failures {
		if q.AtPs <= int64(now) {
			x.Active = append(x.Active, ActiveFault{q.AtPs, failureText(&q), failureText(&q) + " after its retry-count, and sends nothing any more."})
		}
	}
	for _, d := range is.deadlocks {
		if d.AtPs > int64(now) {
			continue
		}
		var links, names []string
		for _, w := range d.Cycle {
			links, names = append(links, w.Link), append(names, w.Node+" for "+w.For)
		}
		x.Deadlocks = append(x.Deadlocks, Deadlock{d.AtPs, links, fmt.Sprintf("Deadlock, found at %v: %s. Nothing in the fabric ends that.",
			unit.Text(unit.Time(d.AtPs)), strings.Replace(strings.Join(names, ", "), " for ", " waits for ", 1))})
	}
	return x
}

// stateOf returns the state of a run that is observed.
func stateOf(s *observe.Snapshot) State {
	x := newState(s.Scenario.Changes(), found{report.Storms(s.Fabric, s.Storms),
		report.Deadlocks(s.Fabric, &deadlock.Watch{Found: s.Deadlocks}), report.Failures(s.Figures)},
		&report.Verdict{Level: s.Level, Reason: s.Reason, Figures: s.Verdict}, s.Now)
	x.WallMs = s.Wall.Milliseconds()
	for _, p := range s.Silent {
		x.Why = strings.TrimSpace(x.Why + " " + p.String() + ".")
	}
	x.addRoots(s.Fabric, s.Trees)
	for i := range s.Checks {
		x.decide(&s.Checks[i].Check, s.Checks[i].Decided)
	}
	for _, d := range s.Figures.Drops() {
		if x.Dropped == nil {
			x.Dropped = map[string]int64{}
		}
		x.Dropped[d.Reason.String()] = d.Count
	}
	for _, a := range s.Adapters {
		if x.RoCE == nil {
			x.RoCE = map[string]guest.RoCECounts{}
		}
		x.RoCE[s.Fabric.Nodes[a.Node].Name] = a.RoCECounts
	}
	return x
}

// decide adds the state of the next check.
func (x *State) decide(k *report.Check, decided bool) {
	c := CheckStatus{ID: k.ID, Metric: k.Metric, Value: report.Number(math.NaN())}
	if decided {
		c.State, c.Value, c.Came = k.Outcome, k.Value, k.Result()
	}
	x.Checks = append(x.Checks, c)
}

// addRoots adds the roots of congestion trees. Those of several classes of one port can be alike,
// and are one.
func (x *State) addRoots(f *fabric.Fabric, trees []observe.Tree) {
	for i := range trees {
		t := &trees[i]
		r := Root{Node: f.Nodes[t.Root.Node].Name, Words: t.Words + "."}
		if !t.Root.Ends {
			r.Link = f.LinkName(t.Root.Next.Hop)
		}
		for _, k := range t.Victims {
			r.Victims = append(r.Victims, f.Flows[k].Name)
		}
		if !slices.ContainsFunc(x.Roots, func(y Root) bool { return y.Words == r.Words }) {
			x.Roots = append(x.Roots, r)
		}
	}
}

// failureText names a queue pair that has failed, in lists of what happens.
func failureText(q *report.Failure) string {
	return fmt.Sprintf("Queue pair %#x of %s at %s has failed", q.QP, q.Flow, q.From)
}

// stormText names a storm, in lists of what happens.
func stormText(t *report.Storm) string {
	return fmt.Sprintf("watchdog of %s: storm of priority %d on %s", t.Node, t.Priority, t.Link)
}

// stormWords says what a watchdog does about a storm.
func stormWords(t *report.Storm) string {
	does := "reports a PFC storm: the frames of priority %d on %s are stopped"
	switch t.Action {
	case switchd.StormDrop.Words()[switchd.StormDrop]:
		does = "drops the frames of priority %d on %s, because of a PFC storm"
	case switchd.StormForward.Words()[switchd.StormForward]:
		does = "sends the frames of priority %d on %s in spite of PFC, because of a storm"
	}
	return fmt.Sprintf("The watchdog of %s "+does+".", t.Node, t.Priority, t.Link)
}
