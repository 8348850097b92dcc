package observe

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/emu/run/assemble"
	"fabemu/emu/run/deadlock"
	"fabemu/emu/run/drive"
	"fabemu/emu/run/mode"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/resolve"
	"fabemu/wire/unit"
)

// Changes makes changes of a run on the wall clock while it runs. The zero value is ready for the
// options of one run; its methods may be called by any goroutine.
type Changes struct {
	mu   sync.Mutex // one at a time
	hub  atomic.Pointer[Hub]
	done atomic.Pointer[scenario.Scenario] // with all changes; nil: there were none
}

// pending is a change that the loop of the run is to make.
type pending struct {
	scenario *scenario.Scenario // with the event, which is the last of its events
	changes  []drive.Change     // as if it were at 0
	routes   int                // how many of the last routes of the scenario count from then on
	lanes    int                // how many of its last rules of lanes; if both are 0, it is an event
	watch    *deadlock.Watch
	result   chan error
}

// Apply makes a change: an item of events of the language, without its time, in braces or not, such
// as "link: trunk, rate: 5Gb/s". It is checked as in a scenario, and happens between two events of
// the run as soon as its loop has time. Apply returns the event with its time; Event.Text is its
// form in a scenario. A *errs.Mistake explains why nothing was changed.
//
// If ctx is done first, nothing happens, and the error is the error of ctx.
func (c *Changes) Apply(ctx context.Context, text string) (scenario.Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.running()
	if err != nil {
		return scenario.Event{}, err
	}
	was, now := h.Scenario(), h.progress.Now()
	with, e, err := resolve.Happen(was, text, unit.Duration(now))
	comes := func(e scenario.Event) bool { return e.Touch().Rate > 0 && unit.Time(e.At) > now }
	if err == nil && slices.ContainsFunc(was.Events, comes) { // which may come first
		_, _, err = resolve.Happen(was, text, was.Model.Duration-1)
	}
	if err != nil {
		return scenario.Event{}, &errs.Mistake{Err: err}
	}
	f, err := fabric.Build(with)
	if err != nil {
		return scenario.Event{}, &errs.Mistake{Err: err}
	}
	e.At = 0
	p := &pending{scenario: with, result: make(chan error, 1)}
	p.changes, p.watch = assemble.Happen(f, &e)
	if err = c.make(ctx, h, p); err != nil {
		return scenario.Event{}, err
	}
	return with.Events[len(with.Events)-1], nil
}

// Reroute makes routes and exceptions from lanes count from now on, as those with since do in a
// scenario. It is like Apply otherwise.
func (c *Changes) Reroute(ctx context.Context, routes []scenario.Route, lanes []scenario.LaneRule) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, err := c.running()
	if err != nil {
		return err
	}
	was, now := h.Scenario(), unit.Duration(h.progress.Now()+1)
	with := *was
	with.Routes, with.LaneRules = slices.Concat(was.Routes, routes), slices.Concat(was.LaneRules, lanes)
	since(&with, len(routes), len(lanes), now)
	if _, err := resolve.Text(&with); err != nil {
		return &errs.Mistake{Err: err}
	}
	f, err := fabric.Build(&with)
	if err != nil {
		return &errs.Mistake{Err: err}
	}
	return c.make(ctx, h, &pending{scenario: &with, changes: assemble.Reroute(f, now), routes: len(routes), lanes: len(lanes), result: make(chan error, 1)})
}

// since makes the last routes and exceptions from lanes of a scenario count from a time on.
func since(s *scenario.Scenario, routes, lanes int, at unit.Duration) {
	for i := len(s.Routes) - routes; i < len(s.Routes); i++ {
		s.Routes[i].Since = at
	}
	for i := len(s.LaneRules) - lanes; i < len(s.LaneRules); i++ {
		s.LaneRules[i].Since = at
	}
}

// running returns the run that can be changed.
func (c *Changes) running() (*Hub, error) {
	h := c.hub.Load()
	switch {
	case h == nil:
		return nil, errs.Errorf("no active run could be changed")
	case h.run.Clock == mode.VirtualClock:
		return nil, errs.Errorf("a run on the virtual clock cannot be changed: write the event into the scenario")
	case h.run.Apart():
		return nil,
			errs.Errorf("a run whose nodes are separate processes cannot be changed: write the event into the scenario, or use one process")
	}
	return h, nil
}

// make has the loop of the run make a change, and waits for it.
func (c *Changes) make(ctx context.Context, h *Hub, p *pending) (err error) {
	h.pending.Store(p)
	select {
	case err = <-p.result:
	case <-ctx.Done():
		err = ctx.Err()
		if !h.pending.CompareAndSwap(p, nil) { // it is being made
			err = <-p.result
		}
	case <-h.ended:
		err = errs.Errorf("the run has ended")
		if !h.pending.CompareAndSwap(p, nil) {
			err = <-p.result
		}
	}
	if err == nil {
		c.done.Store(p.scenario)
	}
	return err
}

// apply makes the change. The loop of the run calls it.
func (p *pending) apply(c *metrics.Collector, v *drive.Visit) {
	at, ok := v.Next()
	if !ok || at >= unit.Time(p.scenario.Model.Duration) {
		p.result <- errs.Errorf("the run has ended")
		return
	}
	changes := slices.Clone(p.changes)
	if p.routes+p.lanes > 0 {
		since(p.scenario, p.routes, p.lanes, unit.Duration(at))
		for i := range changes {
			changes[i].At = 0
		}
	} else {
		p.scenario.Events[len(p.scenario.Events)-1].At = unit.Duration(at)
	}
	for i := range changes {
		changes[i].At += at
	}
	c.Happen(p.scenario)
	v.Change(changes, p.watch)
	p.result <- nil
}
