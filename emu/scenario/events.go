package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/switchd"
	"fabemu/wire/unit"
)

// EveryLink stands for all links in a fault.
const EveryLink = "*"

// Entering enters the events of a scenario.
type Entering struct {
	*Site
	all     []Event
	entered []entered                   // for each event
	dogs    map[string]switchd.Watchdog // the watchdogs of switches after events so far
}

// NewEntering returns what enters events of a fabric, without its traffic.
func NewEntering(s *Site) Entering { return Entering{Site: s} }

// Enter checks an event of an item and enters it, or the events that it stands for. The nodes and
// the links are right, and so is the duration of the run.
func (r *Entering) Enter(item Item, e Event, found *Problems) {
	x := &entered{r, item, -1, found, &e}
	x.checkFrom()
	e.Act.check(x)
	if e.Link != EveryLink {
		r.enter(x)
		return
	}
	if row := e.Act.Row(); !row.Every {
		var all []string
		for _, a := range r.Tables.rows {
			if a.Row().Every {
				all = append(all, a.Row().Key)
			}
		}
		last := len(all) - 1
		x.refuse("link", `"*" means all links and is for %s and %s only: name one link`, strings.Join(all[:last], ", "), all[last])
		return
	}
	for i := range r.Links {
		e.Link = r.Links[i].Name
		r.enter(x)
	}
}

// enter enters an event, or those that it stands for.
func (r *Entering) enter(x *entered) {
	all := x.Act.split(x)
	if all == nil {
		all = []Event{*x.Event}
	}
	for _, e := range all {
		r.entered = append(r.entered, entered{r, x.item, len(r.all), nil, nil})
		r.all = append(r.all, e)
	}
}

// All returns the events that were entered.
func (r *Entering) All() []Event { return r.all }

// Fit completes the events in the scenario of a site, by time, and refuses those that do not fit
// the fabric.
func (r *Entering) Fit(s *Site) {
	r.Site = s
	for i := range r.entered {
		x := &r.entered[i]
		x.Event, x.found = &s.Events[x.event], &r.Found
	}
	slices.SortStableFunc(r.entered, func(a, b entered) int { return cmp.Compare(a.At, b.At) })
	for i := range r.entered {
		x := &r.entered[i]
		if fitted := x.act().fit(x); fitted != nil {
			x.Act = fitted
		}
	}
}

// checkFrom refuses an end that the link does not have.
func (x *entered) checkFrom() {
	l, one := rowOf(x.Links, func(l *Link) bool { return l.Name == x.Link })
	from := ""
	if g := x.item.given("from"); g != nil {
		from, _ = g.Value.(string)
	}
	switch {
	case from == "":
	case !one:
		x.refuse("from", "from names an end of one link, but this fault is on all links: leave from out")
	case from != l.A && from != l.B:
		x.refuse("from", "link %s does not end at %s: it joins %s and %s", x.Link, from, l.A, l.B)
	}
}

// Change is an instant at which an event changes the fabric.
type Change struct {
	At    unit.Time
	What  string // a description: "link trunk down"
	Event int    // index of the event
	Fault string // the fault that begins or ends, the same text for both; empty: the change is no fault
	Ends  bool   // the fault ends
}

// Changes returns the changes of the fabric by the events of s, by time. An event that takes its
// change back, such as a restart, makes two.
func (s *Scenario) Changes() []Change {
	var all []Change
	for i := range s.Events {
		e := &s.Events[i]
		c := e.act().Course(e)
		if c.Fault == "" && c.Ends != "" {
			c.Fault = fmt.Sprint(i, ".")
		}
		all = append(all, Change{unit.Time(e.At), c.Begins, i, c.Fault, c.Over})
		if c.Last > 0 && !c.Over {
			all = append(all, Change{unit.Time(e.At + c.Last), c.Ends, i, c.Fault, true})
		}
	}
	all = slices.DeleteFunc(all, func(c Change) bool { return c.At >= unit.Time(s.Model.Duration) })
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return all
}

// Settles reports whether a change takes the place of a fault that an earlier one has begun: it
// ends the fault, or begins it again. A storm that ends without priorities ends for all of them.
func (c *Change) Settles(begun *Change) bool {
	return c.Fault != "" && c.Fault == begun.Fault || c.Ends && strings.HasSuffix(c.Fault, " ") && strings.HasPrefix(begun.Fault, c.Fault)
}

// Active returns the faults that last at an instant, of the changes of a scenario: each as the
// change that has begun it, by time.
func Active(changes []Change, at unit.Time) (active []Change) {
	for i := range changes {
		c := &changes[i]
		if c.At > at || c.Fault == "" {
			continue
		}
		active = slices.DeleteFunc(active, func(a Change) bool { return c.Settles(&a) })
		if !c.Ends {
			active = append(active, *c)
		}
	}
	return active
}

// With returns s with one more event. It is another scenario than the one that was read.
func (s *Scenario) With(e Event) *Scenario {
	with := *s
	with.Events, with.loaded = append(slices.Clone(s.Events), e), nil
	return &with
}

// Reroutes reports whether frames of a flow may change their path or their lane.
func (s *Scenario) Reroutes() bool { return s.Managed || s.Rerouted() }

// Disorders reports whether events have frames arrive twice, or in another order than they left.
func (s *Scenario) Disorders() bool {
	return slices.ContainsFunc(s.Events, func(e Event) bool { return e.Touch().Reorders })
}

// ByPacket reports whether frames of a flow may take several paths at a time: switches, or sources,
// choose for each frame, or for a few.
func (s *Scenario) ByPacket() bool {
	return s.Routing.Paths == ECMP && s.Routing.Balance != switchd.Hash || s.Sprays()
}

// Spreads reports whether packets of a flow with a transport may take several paths at a time.
func (s *Scenario) Spreads(t Transport) bool {
	return s.Routing.Paths == ECMP && (s.Routing.Balance != switchd.Hash || t.Sprays())
}

// Rerouted reports whether the scenario says that routes or lanes change, or that the frames of a
// flow take several paths.
func (s *Scenario) Rerouted() bool {
	return s.Routing.Recompute > 0 || s.ByPacket() || slices.ContainsFunc(s.Routes, func(r Route) bool { return r.Since > 0 }) ||
		slices.ContainsFunc(s.LaneRules, func(r LaneRule) bool { return r.Since > 0 })
}

// Opened returns s as a scenario that may receive events while it runs. Frames that these lose
// break no promise.
func (s *Scenario) Opened() *Scenario {
	open := *s
	open.Open = true
	return &open
}

// Loses reports whether frames may be lost although all links have flow control: a link goes
// down or has a fault, or a switch is restarted.
func (s *Scenario) Loses() bool {
	return s.Open || slices.ContainsFunc(s.Events, func(e Event) bool { return e.Touch().Loses }) || s.Disorders() || s.expires()
}

// Rates returns the lowest and the highest rate of a link in the run.
func (s *Scenario) Rates(l *Link) (least, most unit.Rate) {
	least, most = l.Rate, l.Rate
	for i := range s.Events {
		if rate := s.Events[i].Touches(l).Rate; rate > 0 {
			least, most = min(least, rate), max(most, rate)
		}
	}
	return least, most
}

// Latest returns the longest delay that faults give a frame of a link.
func (s *Scenario) Latest(l *Link) (d unit.Duration) {
	for i := range s.Events {
		d += s.Events[i].Touches(l).Late
	}
	return d
}
