package live

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync"
	"time"

	"fabemu/emu/result/report"
	"fabemu/emu/run/mode"
	"fabemu/emu/run/pace"
	"fabemu/emu/scenario"
	"fabemu/emu/watch/observe"
	"fabemu/wire/unit"
)

// SocketFile is the socket in the folder of the results of a run, at which its Control answers.
const SocketFile = "fabemu.sock"

// Control is the interface of a run for programs: HTTP with JSON. It answers with the state of the
// run and its events, and makes changes.
//
// On the wall clock it is an observer that asks for a snapshot on request (Request). Where it
// observes nothing, it answers from the scenario and the progress of the run.
type Control struct {
	Scenario *scenario.Scenario
	Clock    mode.Clock
	// Apply makes a change of the run (observe.Changes.Apply). Nil: the run takes no changes.
	Apply func(ctx context.Context, change string) (scenario.Event, error)
	// Refused is why it takes none.
	Refused string

	mu     sync.Mutex
	asks   chan struct{} // nil: it observes nothing
	latest state
	fresh  chan struct{} // closed when there is a newer one
	turns  []time.Time   // of the last changes
	done   int           // events of the scenario with all changes; 0: there were none
}

// state is the state of a run and its events so far.
type state struct {
	number int64 // of standings of this run
	known  int   // events of the scenario that it has
	status Status
	events []Event
}

// Status is the state of a run, as programs see it.
type Status struct {
	Scenario string     `json:"scenario"`
	Clock    mode.Clock `json:"clock"`
	Dilation int64      `json:"dilation,omitempty"`
	Seed     uint64     `json:"seed"`
	Phase    string     `json:"state"` // Running or Ended
	EndPs    int64      `json:"end_ps"`
	Changes  bool       `json:"changes"`           // the run takes changes
	Refused  string     `json:"refused,omitempty"` // why it does not
	State
}

// The states of a run.
const (
	Running = "running"
	Ended   = "ended"
)

// Event is something that has happened in a run.
type Event struct {
	AtPs  int64  `json:"at_ps"`
	Kind  string `json:"kind"` // Begin, End, Storm, StormOver, DeadlockFound, FailureFound, Over
	Text  string `json:"text"`
	Event string `json:"event,omitempty"` // Begin: the line of the scenario's events
	By    string `json:"by,omitempty"`    // Begin: "scenario" or "hand"
}

// The kinds.
const (
	Begin         = "begin"      // an event of the scenario happens
	End           = "end"        // a fault ends by itself
	Storm         = "storm"      // a watchdog finds a storm
	StormOver     = "storm-over" // and its end
	DeadlockFound = "deadlock"
	FailureFound  = "failure" // of a queue pair
	Over          = "over"    // the run is
)

// Request makes the Control an observer of the run.
func (c *Control) Request() observe.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks = make(chan struct{}, 1)
	c.wake() // there may be a request already: the socket is there before the run
	return observe.Request{Observer: c, Ask: c.asks}
}

// wake makes all that wait for a state look again.
func (c *Control) wake() {
	if c.fresh != nil {
		close(c.fresh)
		c.fresh = nil
	}
}

// Observe takes a snapshot.
func (c *Control) Observe(s *observe.Snapshot) {
	status := c.status(s.Scenario, stateOf(s))
	if s.Last {
		status.Phase = Ended
	}
	events := happened(s.Scenario, len(s.Fabric.Scenario.Events), s.Now)
	for _, t := range report.Storms(s.Fabric, s.Storms) {
		words := stormText(&t)
		events = append(events, Event{AtPs: t.FromPs, Kind: Storm, Text: words})
		if t.ToPs > 0 {
			events = append(events, Event{AtPs: t.ToPs, Kind: StormOver, Text: words + " is over"})
		}
	}
	for _, d := range status.Deadlocks {
		events = append(events, Event{AtPs: d.AtPs, Kind: DeadlockFound, Text: d.Words})
	}
	for _, q := range report.Failures(s.Figures) {
		events = append(events, Event{AtPs: q.AtPs, Kind: FailureFound, Text: failureText(&q)})
	}
	c.set(state{known: len(s.Scenario.Events), status: status, events: events})
}

// Progress takes the progress of a run that the Control does not observe.
func (c *Control) Progress(p pace.Status) {
	status := c.status(c.Scenario, c.unobserved(p.Now))
	status.WallMs = p.Wall.Milliseconds()
	c.set(state{status: status, events: happened(c.Scenario, len(c.Scenario.Events), p.Now)})
}

// unobserved returns the state of a run that the Control does not observe.
func (c *Control) unobserved(now unit.Time) State {
	return newState(c.Scenario.Changes(), found{}, &report.Verdict{Figures: report.NoFigures()}, now)
}

// status returns the status of a run of a scenario.
func (c *Control) status(s *scenario.Scenario, now State) Status {
	x := Status{
		Scenario: s.Name, Clock: c.Clock, Seed: s.Model.Seed, Phase: Running, EndPs: int64(s.Model.Duration),
		Changes: c.Apply != nil, Refused: c.Refused, State: now,
	}
	if c.Clock == mode.WallClock {
		x.Dilation = s.Wall.Dilation
	}
	return x
}

// happened returns the events of a scenario up to an instant, of which the first stood in its file.
func happened(s *scenario.Scenario, inFile int, now unit.Time) (all []Event) {
	for _, x := range s.Changes() {
		h := Event{AtPs: int64(x.At), Kind: Begin, Text: x.What}
		switch e := &s.Events[x.Event]; {
		case x.At > now && x.Event < inFile:
			continue
		case unit.Time(e.At) != x.At: // it takes its change back
			if h.Kind = End; x.At > now {
				continue
			}
		case x.Event < inFile:
			h.Event, h.By = e.Text(), "scenario"
		default:
			h.Event, h.By = e.Text(), "hand"
		}
		all = append(all, h)
	}
	return all
}

// set makes a state the latest one.
func (c *Control) set(x state) {
	slices.SortStableFunc(x.events, func(a, b Event) int { return cmp.Compare(a.AtPs, b.AtPs) })
	if x.status.Phase == Ended {
		x.events = append(x.events, Event{AtPs: x.status.ModelPs, Kind: Over, Text: "the run is over"})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest.status.Phase == Ended {
		return
	}
	x.number = c.latest.number + 1
	c.latest = x
	c.wake()
}

// End ends the Control of a run: no more comes.
func (c *Control) End() {
	c.mu.Lock()
	x := c.latest
	c.mu.Unlock()
	if x.number == 0 {
		x.status = c.status(c.Scenario, c.unobserved(0))
	}
	x.status.Phase, x.events = Ended, slices.Clone(x.events)
	c.set(x)
}

// next returns a state of an instant after the call, with all changes that were made before, or the
// last one. Where the Control does not observe the run, it is the latest.
func (c *Control) next(ctx context.Context) (state, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for after, done := c.latest.number, c.done; ; {
		x := &c.latest
		if x.status.Phase == Ended || x.number > 0 && c.asks == nil || x.number > after && x.known >= done {
			return *x, nil
		}
		if c.fresh == nil {
			c.fresh = make(chan struct{})
		}
		fresh, asks := c.fresh, c.asks
		c.mu.Unlock()
		if asks != nil {
			select {
			case asks <- struct{}{}:
			default: // another one has asked, and the observer has not begun with it
			}
		}
		var err error
		select {
		case <-fresh:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if c.mu.Lock(); err != nil {
			return state{}, err
		}
	}
}

// refuse answers a request with an error, as JSON.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(Refusal{fmt.Sprintf(format, args...)})
}

// Refusal is the answer to a request that is refused.
type Refusal struct {
	Error string `json:"error"`
}

// Done is the answer to a change that was made.
type Done struct {
	AtPs  int64  `json:"at_ps"`
	Event string `json:"event"` // its line in the scenario's events
}

// answerTime is how long a run may take to answer: its loop may be busy, or stopped.
const answerTime = 10 * time.Second

// serveStatus answers with the state of the run.
func (c *Control) serveStatus(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithTimeout(r.Context(), answerTime)
	defer stop()
	x, err := c.next(ctx)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "the run does not answer: it has not started, or its loop is busy")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(x.status)
}

// followEvery is the wall time between two looks at a run whose events are followed.
const followEvery = 100 * time.Millisecond

// serveEvents answers with the events so far, a line each; with follow, until the run is over.
func (c *Control) serveEvents(w http.ResponseWriter, r *http.Request) {
	follow := r.URL.Query().Has("follow")
	out := http.NewResponseController(w)
	out.SetReadDeadline(time.Time{}) // no more bytes come: the reader stays
	seen := map[Event]int{}
	for begun := false; ; {
		ctx, stop := context.WithTimeout(r.Context(), answerTime)
		x, err := c.next(ctx)
		stop()
		if err != nil && !begun {
			refuse(w, http.StatusServiceUnavailable, "the run does not answer: it has not started, or its loop is busy")
			return
		}
		if r.Context().Err() != nil {
			return
		}
		if !begun {
			w.Header().Set("Content-Type", "application/x-ndjson")
		}
		begun = true
		out.SetWriteDeadline(time.Now().Add(patience))
		again := map[Event]int{}
		for _, h := range x.events {
			if again[h]++; again[h] <= seen[h] {
				continue
			}
			seen[h]++
			if json.NewEncoder(w).Encode(h) != nil {
				return
			}
		}
		if out.Flush() != nil || !follow || x.status.Phase == Ended {
			return
		}
		select {
		case <-time.After(followEvery):
		case <-r.Context().Done():
			return
		}
	}
}

// Bounds of the changes that may be asked for.
const (
	mostBody  = 4 << 10         // bytes of a change
	mostTurns = 32              // changes in a second
	turnTime  = 5 * time.Second // in which a change has come about
)

// serveChange makes a change of the run: an event as a JSON object, or as a string with its line.
func (c *Control) serveChange(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "a change is JSON: the content type is application/json")
		return
	}
	if c.Apply == nil {
		refuse(w, http.StatusConflict, "this run takes no changes: %s", cmp.Or(c.Refused, "it has ended"))
		return
	}
	if !c.mayTurn(time.Now()) {
		refuse(w, http.StatusTooManyRequests, "there are too many changes at a time: %d in a second are the most", mostTurns)
		return
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
		refuse(w, http.StatusRequestEntityTooLarge, "the change is longer than %d bytes", mostBody)
		return
	}
	change, ok := changeOf(b)
	if err != nil || !ok {
		refuse(w, http.StatusBadRequest,
			`a change is a JSON object such as {"link": "trunk", "state": "down"}, or a string such as "link: trunk, state: down"`)
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), turnTime)
	defer stop()
	e, err := c.Apply(ctx, change)
	c.mu.Lock()
	if err == nil {
		c.done = max(c.done, c.latest.known) + 1
	}
	ended := c.latest.status.Phase == Ended
	c.mu.Unlock()
	switch {
	case err != nil && ended:
		refuse(w, http.StatusConflict, "this run takes no changes: it has ended")
	case errors.Is(err, context.DeadlineExceeded):
		refuse(w, http.StatusServiceUnavailable, "the run did not make the change within %v: nothing has changed", turnTime)
	case err != nil:
		refuse(w, http.StatusUnprocessableEntity, "%v", err)
	default:
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(Done{int64(e.At), e.Text()})
	}
}

// changeOf returns the event in the body of a request. A JSON object is an item of events without
// changes, because YAML has JSON in it.
func changeOf(body []byte) (change string, ok bool) {
	if json.Unmarshal(body, &change) == nil {
		return change, true
	}
	var fields map[string]any
	var line bytes.Buffer
	if json.Unmarshal(body, &fields) != nil || json.Compact(&line, body) != nil {
		return "", false
	}
	return line.String(), true
}

// mayTurn reports whether another change may be made now, and counts it.
func (c *Control) mayTurn(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.turns) > 0 && now.Sub(c.turns[0]) > time.Second {
		c.turns = c.turns[1:]
	}
	if len(c.turns) >= mostTurns {
		return false
	}
	c.turns = append(c.turns, now)
	return true
}
