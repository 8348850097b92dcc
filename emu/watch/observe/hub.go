package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/result/report"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/guest"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Run is the run that is shown.
type Run struct {
	Fabric    *fabric.Fabric
	Collector *metrics.Collector
	mode.Settings
	Requests []Request
	Changes  *Changes // may be nil
}

// Hub shows a run to its observers. It is the drive.Visitor of the run, and a trace.Sink. The loop
// of the run writes the sample; wanted shows its owner: the loop while it is set, the hub's
// goroutine otherwise.
type Hub struct {
	run      Run
	nodes    []drive.Node
	guests   *guest.Guests
	progress *pace.Progress
	batch    *trace.Batch // events for the collector, to be flushed before it is read
	mirror   *metrics.Mirror
	wanted   atomic.Bool
	pending  atomic.Pointer[pending]
	filled   chan struct{} // the sample is
	knocks   chan struct{} // some observer asks for a snapshot
	quit     chan struct{} // the run has ended
	ended    chan struct{} // the hub's goroutine has
	err      error         // with which it has
	watchers []*watcher
	first    []int
	last     bool      // the sample is the last
	state    unit.Time // instant of the states in the sample

	// Of the loop:
	kinds  uint64 // of events that some observer wants, as bits
	events []trace.Event
	missed int64 // events for which there was no room
	yield  func(port.Wait) bool
	asked  int32 // the node that yields frames

	sample sample
	number int64
	checks []Check
	free   chan *shared
}

// sample is the loop's record of a run at an instant.
type sample struct {
	now       unit.Time
	wall      int64
	timed     bool
	timing    pace.Record // without its histograms and lists
	p99, gap  int64       // of the lateness, and of the error of gaps, in thousandths of T
	deadlocks []deadlock.Deadlock
	holds     []hold
	congested []unit.Duration // by number of the port: see metrics.PortState
	cut       bool            // there was no room for more
	events    []trace.Event
	missed    int64
	silent    []pace.Silent
	adapters  []guest.Adapter
	serves    bool             // real programs see the time of the model
	programs  *report.Programs // what they see; nil: nothing yet
}

// holdRoom is how many waiting frames a sample has room for.
const holdRoom = 1 << 14

// shared is a snapshot that several observers have copies of.
type shared struct {
	Snapshot
	users atomic.Int32
}

// watcher is an observer and its next snapshot.
type watcher struct {
	Request
	inbox    chan *shared
	asks     atomic.Bool // for a snapshot of an instant to come
	granted  bool        // the sample that comes is for it; of the hub's goroutine
	ended    chan struct{}
	due      time.Time
	missed   atomic.Int64
	panicked atomic.Pointer[error]

	mu     sync.Mutex
	events []trace.Event // that wait for its next snapshot
	lost   int64
	own    []trace.Event // the events of its present snapshot
}

// NewHub returns the hub of a run that is about to begin.
func NewHub(r Run) *Hub {
	h := &Hub{
		run: r, mirror: metrics.NewMirror(r.Collector), filled: make(chan struct{}, 1), knocks: make(chan struct{}, 1),
		quit: make(chan struct{}), ended: make(chan struct{}),
		free: make(chan *shared, 4+2*len(r.Requests)),
	}
	for i := range r.Requests {
		q := r.Requests[i]
		q.Every = cmp.Or(q.Every, defaultEvery)
		for _, k := range q.Events {
			h.kinds |= 1 << k
		}
		h.watchers = append(h.watchers,
			&watcher{Request: q, inbox: make(chan *shared, 1), ended: make(chan struct{})})
	}
	if r.Changes != nil {
		r.Changes.done.Store(nil)
	}
	if h.kinds != 0 {
		h.events, h.sample.events = make([]trace.Event, 0, EventRoom), make([]trace.Event, 0, EventRoom)
	}
	h.sample.holds = make([]hold, 0, holdRoom)
	h.yield = h.note
	n := 0
	for i := range r.Fabric.Nodes {
		h.first = append(h.first, n)
		n += len(r.Fabric.Nodes[i].Ports)
	}
	h.sample.congested = make([]unit.Duration, n)
	return h
}

// Start begins to show the run of nodes that report to events, and of guests, which may be nil.
func (h *Hub) Start(f *drive.Setup, events *trace.Batch, guests *guest.Guests) {
	h.guests = guests
	h.nodes, h.batch, h.progress, f.Visitor = f.Nodes, events, f.Progress, h
	for _, w := range h.watchers {
		go w.watch(h)
	}
	go h.follow()
	if h.run.Changes != nil {
		h.run.Changes.hub.Store(h)
	}
}

// Records reports whether some observer wants events.
func (h *Hub) Records() bool { return h.kinds != 0 }

// Record keeps an event that some observer wants. It is a trace.Sink, and belongs to the loop.
func (h *Hub) Record(e *trace.Event) {
	switch {
	case h.kinds>>e.Kind&1 == 0:
	case len(h.events) == cap(h.events):
		h.missed++
	default:
		h.events = append(h.events, *e)
	}
}

// Wanted reports whether a sample is to be taken, or a change is to be made.
func (h *Hub) Wanted() bool { return h.wanted.Load() || h.pending.Load() != nil }

// Visit takes a sample, and makes a change that is pending.
func (h *Hub) Visit(v *drive.Visit) {
	h.batch.Reach(v.Now)
	if p := h.pending.Swap(nil); p != nil {
		p.apply(h.run.Collector, v)
	}
	if !h.wanted.Load() {
		return
	}
	h.mirror.Update(v.Now)
	h.sample.silent = v.Silent
	h.take(v.Now, v.Wall, v.Timing, v.Deadlocks())
	h.ask(v.Now)
	h.wanted.Store(false)
	h.filled <- struct{}{} // it has room: the one before was taken before wanted was set
}

// take writes the sample, except the states of nodes.
func (h *Hub) take(now unit.Time, wall int64, t *pace.Record, found []deadlock.Deadlock) {
	s := &h.sample
	s.now, s.wall, s.deadlocks, s.missed = now, wall, found, h.missed
	s.adapters = h.guests.Adapters(s.adapters[:0])
	if s.timed = t != nil; s.timed {
		s.timing, s.p99, s.gap = *t, t.LatenessT.ValueAtQuantile(99), t.GapError.ValueAtQuantile(99)
		s.timing.Lateness, s.timing.LatenessT, s.timing.GapError = pace.Histogram{}, pace.Histogram{}, pace.Histogram{}
		s.timing.Moments, s.timing.Holds = nil, nil
	}
	if s.serves = h.guests.Serve(); s.serves {
		s.programs = report.ProgramsOf(h.guests.Errors())
	}
	s.events, h.events = h.events, s.events[:0]
}

// ask reads the waiting frames of each node at an instant, the instant of all states.
func (h *Hub) ask(now unit.Time) {
	h.state = now
	h.sample.holds, h.sample.cut = h.sample.holds[:0], false
	if h.run.Apart() {
		return
	}
	for i, m := range h.nodes {
		if w, ok := m.(deadlock.Waiter); ok && !h.sample.cut {
			h.asked = int32(i)
			w.Waits(now, h.yield)
		}
		if c, ok := m.(interface {
			Congested(now unit.Time, p port.ID) unit.Duration
		}); ok {
			for p := range h.run.Fabric.Nodes[i].Ports {
				h.sample.congested[h.first[i]+p] = c.Congested(now, port.ID(p))
			}
		}
	}
}

// note records a waiting frame, and reports whether there is room for more.
func (h *Hub) note(w port.Wait) bool {
	s := &h.sample
	if s.cut = len(s.holds) == cap(s.holds); s.cut {
		return false
	}
	if !w.Room || w.Block == port.NoCredit || w.Block == port.Paused { // it keeps another frame waiting, or waits for another node
		s.holds = append(s.holds, hold{h.asked, w.In, w.Out, w.Class, w.Block, w.Since, w.Room})
	}
	return true
}

// follow asks the loop for samples and sends snapshots to observers.
func (h *Hub) follow() {
	defer close(h.ended)
	defer errs.Into(&h.err)
	every := time.Hour
	regular := false // some observer wants snapshots at a rate
	for _, w := range h.watchers {
		if w.Ask == nil {
			every, regular = min(every, w.Every), true
		}
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	waits := false
	ask := func(wanted bool) {
		for _, w := range h.watchers {
			if !waits && w.asks.Swap(false) {
				w.granted, wanted = true, true
			}
		}
		if wanted && !waits {
			waits = true
			h.wanted.Store(true)
		}
	}
	for {
		select {
		case <-tick.C:
			ask(regular)
		case <-h.knocks:
			ask(false)
		case <-h.filled:
			waits = false
			h.show()
			ask(false)
		case <-h.quit:
			return
		}
	}
}

// show sends the sample to the observers that are due.
func (h *Hub) show() {
	now := time.Now()
	var snapshot *shared
	for _, w := range h.watchers {
		w.keep(&h.sample)
		idle := now.Before(w.due)
		if w.Ask != nil {
			idle, w.granted = !w.granted, false
		}
		if idle && !h.last || w.panicked.Load() != nil {
			continue
		}
		w.due = now.Add(w.Every - w.Every/8) // the tick may be a little early
		if len(w.inbox) == cap(w.inbox) {
			if w.missed.Add(1); !h.last {
				continue
			}
			select { // the last one replaces one that the observer has not begun with
			case s := <-w.inbox:
				h.release(s)
			default:
			}
		}
		if snapshot == nil {
			snapshot = h.snapshot()
			defer h.release(snapshot)
		}
		snapshot.users.Add(1)
		w.inbox <- snapshot
	}
}

// keep collects the events of a sample that an observer wants, until its next snapshot.
func (w *watcher) keep(s *sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range s.events {
		switch e := &s.events[i]; {
		case !slices.Contains(w.Events, e.Kind):
		case len(w.events) >= EventRoom:
			w.lost++
		default:
			w.events = append(w.events, *e)
		}
	}
}

// release gives a snapshot up, and keeps it for reuse when it has no reader any more.
func (h *Hub) release(s *shared) {
	if s.users.Add(-1) > 0 {
		return
	}
	select {
	case h.free <- s:
	default:
	}
}

// watch calls an observer with one snapshot after another.
func (w *watcher) watch(h *Hub) {
	defer close(w.ended)
	defer errs.Catch(func(err error) { w.panicked.Store(&err) })
	for {
		var s *shared
		select {
		case s = <-w.inbox:
		case <-w.Ask:
			w.asks.Store(true)
			select {
			case h.knocks <- struct{}{}:
			default: // the hub is about to look
			}
			continue
		}
		if s == nil {
			return
		}
		w.mu.Lock()
		w.own, w.events = w.events, w.own[:0]
		lost := w.lost
		w.mu.Unlock()
		own := s.Snapshot
		own.Missed, own.Events = w.missed.Load(), w.own
		own.EventsMissed += lost
		w.Observer.Observe(&own)
		h.release(s)
	}
}

// snapshot makes a snapshot of the sample; the caller is its first user.
func (h *Hub) snapshot() *shared {
	var s *shared
	select {
	case s = <-h.free:
	default:
		s = &shared{Snapshot: Snapshot{Figures: &metrics.View{}}}
	}
	f, from := h.run.Fabric, &h.sample
	h.number++
	s.Snapshot = Snapshot{
		Number: h.number, Last: h.last, Now: from.now, End: unit.Time(f.Scenario.Model.Duration),
		Wall:     time.Duration(from.wall),
		Settings: h.run.Settings, Fabric: f, Scenario: h.Scenario(), Figures: s.Figures,
		Stalls: s.Stalls[:0], Checks: s.Checks[:0],
		ByPaths: h.run.Apart(), Cut: from.cut, Deadlocks: from.deadlocks, Silent: from.silent,
		Adapters:     append(s.Adapters[:0], from.adapters...),
		EventsMissed: from.missed, first: h.first,
	}
	s.users.Store(1)
	h.mirror.View(s.Figures, h.state)
	s.Ports, s.Flows, s.Storms = s.Figures.Ports, s.Figures.Flows, s.Figures.Storms()
	s.Figures.Outside = s.Figures.Outside[:0]
	for i := range s.Adapters {
		a := &s.Adapters[i]
		s.Figures.Outside = append(s.Figures.Outside, metrics.Outside{Of: metrics.Adapter, Node: a.Node, Counts: &a.RoCECounts})
		s.Adapters[i].Pauses = report.Pauses(s.Figures.Classes(s.Adapters[i].Node, 0))
	}
	for i := range s.Ports {
		s.Ports[i].Congested = from.congested[i]
	}
	w := &waiting{fabric: f, stalls: map[Output]*Stall{}, holders: map[Output]map[Output]int{}}
	for i := range from.holds {
		w.hold(&from.holds[i])
	}
	w.sources(s.Flows)
	if s.ByPaths {
		w.follow(s.Link, s.Flows)
	}
	s.Stalls = w.list(s.Stalls)
	s.Trees = Trees(f, s.Stalls, s.Flows)
	h.judge(&s.Snapshot)
	h.checks = judge(s.Figures, s.Scenario, h.checks)
	s.Checks = append(s.Checks, h.checks...)
	return s
}

// judge gives a snapshot its verdict, by the figures by which the run will be judged at its end:
// where there are programs, and no packet of theirs has arrived yet, it may be void, and is
// otherwise not known.
func (h *Hub) judge(s *Snapshot) {
	s.Verdict = report.NoFigures()
	switch from := &h.sample; {
	case s.Clock == mode.VirtualClock:
		s.Verdict.Virtual = true
	case !from.timed:
		return
	default:
		s.Verdict = report.FiguresOf(s.Fabric, &from.timing)
		if from.timing.Data > 0 {
			s.Verdict.Pace.GapErrorT.P99 = report.Number(float64(from.gap) / 1e3)
			s.Verdict.Pace.LatenessPacketTimes.P99 = report.Number(float64(from.p99) / 1e3)
			s.Verdict.Pace.LatenessPacketTimes.Max = report.Number(float64(from.timing.Latest) / 1e3)
		}
	}
	_, s.Verdict.Violations = s.Figures.Violations()
	s.Verdict.Programs = h.sample.programs
	if s.Now == 0 {
		return
	}
	if s.Level, s.Reason = report.Judge(s.Verdict); h.sample.serves && s.Verdict.Programs == nil && s.Level != report.Void {
		s.Level, s.Reason = "", ""
	}
}

// Scenario returns the scenario of the run, with the changes so far. The hub's goroutine may call
// it, and the goroutine of the run once it has ended.
func (h *Hub) Scenario() *scenario.Scenario {
	if c := h.run.Changes; c != nil {
		if s := c.done.Load(); s != nil {
			return s
		}
	}
	return h.run.Fabric.Scenario
}

// patience is how long a run that has ended waits for its observers.
const patience = 2 * time.Second

// Stop ends the hub of a run that has ended at an instant, whose collector is closed. Observers get
// the last snapshot, if they take it within two seconds. Stop returns warnings about observers, and
// their panics.
func (h *Hub) Stop(end unit.Time, took time.Duration, t *pace.Record, w *deadlock.Watch) (warnings []string, err error) {
	h.halt()
	select {
	case <-h.filled: // and no observer has seen it
		for _, w := range h.watchers {
			w.keep(&h.sample)
		}
	default:
	}
	h.mirror.Update(end)
	h.take(end, took.Nanoseconds(), t, w.Found)
	h.ask(cmp.Or(w.Ended, end)) // after a deadlock a PAUSE would run out
	h.last = true
	h.show()
	late, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, w := range h.watchers {
		close(w.inbox)
	}
	for _, w := range h.watchers {
		select {
		case <-w.ended:
		case <-late.Done():
		}
		select {
		case <-w.ended: // in time or not, it has seen the end
			if wrong := w.panicked.Load(); wrong != nil {
				err = errors.Join(err, fmt.Errorf("%s panicked, and saw nothing more of the run: %w", w.name(), *wrong))
			}
		default:
			warnings = append(warnings,
				fmt.Sprintf("%s was still busy %v after the end of the run and was not stopped", w.name(), patience))
		}
		w.mu.Lock()
		missed, lost := w.missed.Load(), w.lost
		w.mu.Unlock()
		if w.Name != "" && (missed > 0 || lost > 0) {
			text := fmt.Sprintf("%s missed %d snapshots", w.Name, missed)
			if lost > 0 {
				text += fmt.Sprintf(" and %d events", lost)
			}
			warnings = append(warnings, text+": they came faster than it took them")
		}
	}
	return warnings, errors.Join(err, h.err)
}

// halt ends the hub's goroutine, and refuses changes from now on.
func (h *Hub) halt() {
	if h.run.Changes != nil {
		h.run.Changes.hub.Store(nil)
	}
	close(h.quit)
	if h.batch != nil { // it was started: a run may fail before
		<-h.ended
	}
}

// Abandon ends the hub of a run that has failed: observers receive nothing more.
func (h *Hub) Abandon() {
	h.halt()
	for _, w := range h.watchers {
		close(w.inbox)
	}
}
