package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/spelling"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/unit"
)

// everyLink stands for all links in a fault.
const everyLink = "*"

// resolveEvent checks an event and enters it, or the events that it stands for.
func (r *resolver) resolveEvent(n *yaml.Node, v yaml.View) {
	v.Of = r.tables.section("events") // an item of faults also has a name
	e := yaml.Build[Event](v)
	late := r.leaves(n, e.At, e.Link+e.Endpoint+e.Switch, "the event is at %v, but %s")
	row, ok := r.checkChange(n)
	if !ok || late {
		return
	}
	of := r.tables.acts.find(row.Key)
	before := len(r.Mistakes)
	if r.checkValues(v, of); len(r.Mistakes) > before {
		return
	}
	e.Act = params(v, of, nil).(Act)
	x := &entered{r, n, -1, &e}
	x.checkFrom()
	e.Act.check(x)
	if e.Link != everyLink {
		r.enter(x)
		return
	}
	if !row.Every {
		var all []string
		for _, a := range r.tables.rows {
			if a.Row().Every {
				all = append(all, a.Row().Key)
			}
		}
		last := len(all) - 1
		r.Add(n.Get("link").Spot, `"*" means all links and is for %s and %s only: name one link`, strings.Join(all[:last], ", "), all[last])
		return
	}
	for i := range r.s.Links {
		e.Link = r.s.Links[i].Name
		r.enter(x)
	}
}

// enter enters an event, or those that it stands for.
func (r *resolver) enter(x *entered) {
	all := x.Act.split(x)
	if all == nil {
		all = []Event{*x.Event}
	}
	for _, e := range all {
		r.entered = append(r.entered, entered{r, x.node, len(r.s.Events), nil})
		r.s.Events = append(r.s.Events, e)
	}
}

// fitEvents completes the events, by time, and refuses those that do not fit the fabric.
func (r *resolver) fitEvents() {
	for i := range r.entered {
		r.entered[i].Event = &r.s.Events[r.entered[i].event]
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
	l, one := rowOf(x.s.Links, func(l *Link) bool { return l.Name == x.Link })
	switch from := yaml.Get[string](x.fields(), "from"); {
	case from == "":
	case !one:
		x.refuse("from", "from names an end of one link, but this fault is on all links: leave from out")
	case from != l.A && from != l.B:
		x.refuse("from", "link %s does not end at %s: it joins %s and %s", x.Link, from, l.A, l.B)
	}
}

// checkChange returns the row of what an event does, and whether that is one change of one object,
// with the further keys of that change.
func (r *resolver) checkChange(n *yaml.Node) (of Row, ok bool) {
	var all []string
	var act Act
	for _, a := range r.tables.rows {
		if row := a.Row(); n.Get(row.Key) != nil {
			all, of, act = append(all, row.Key), row, a
		}
	}
	others := slices.ContainsFunc(r.tables.targets(), func(on Target) bool { return on != of.On && n.Get(string(on)) != nil })
	before := len(r.Mistakes)
	switch {
	case len(all) == 0:
		r.Add(n.Spot,
			"this event changes nothing: give one of %s", r.tables.possible())
	case len(all) > 1:
		r.Add(n.Spot, "%s are given: an event changes one thing; for two changes give two events at the same time",
			strings.Join(all, " and "))
	case n.Get(string(of.On)) == nil || others:
		article := "a"
		if of.On == OnEndpoint {
			article = "an"
		}
		r.Add(n.Spot, "%s changes %s %s: name that, and nothing else", of.Key, article, of.On)
	default:
		for _, e := range n.Entries {
			if having := r.tables.acts.having[e.Key]; having != nil && !slices.Contains(having, of.Key) {
				r.Add(e.Value.Spot, "%s is a detail of %s, not of %s%s", e.Key, spelling.Several(having), of.Key, act.instead(e.Key, e.Value.Text))
			}
		}
	}
	return of, len(r.Mistakes) == before
}

// noFault returns why a link cannot have a fault; empty if there is no reason.
func noFault(key string) string {
	const cable = "frames on a cable or a fibre arrive in order"
	switch key {
	case "duplication", "duplicate", "dup":
		return cable + ", each once"
	case "reordering", "reorder", "disorder":
		return cable + "; with routing.recompute frames on different paths overtake one another"
	}
	return ""
}

// possible lists the changes by their objects.
func (t tables) possible() string {
	var all []string
	for _, on := range t.targets() {
		all = append(all, fmt.Sprintf("%s (of the %s)", strings.Join(t.actsOn(on), ", "), on))
	}
	return strings.Join(all, ", ")
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

// Happen adds an event to a scenario that is running, and returns the scenario with the event. The
// text is an item of events without its time, "link: trunk, rate: 5Gb/s", in braces or not; at is
// an instant within the run. Happen checks the event like one in the file. It also refuses an event
// with which the fabric would have been laid out differently from the start: with more headroom, or
// other ways.
func (s *Scenario) Happen(text string, at unit.Duration) (*Scenario, Event, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	wrong := func(format string, args ...any) (*Scenario, Event, error) {
		return nil, Event{}, fmt.Errorf("event {%s}: "+format, append([]any{text}, args...)...)
	}
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return nil, Event{}, fmt.Errorf("event %q: expected one line, such as {link: trunk, rate: 5Gb/s}", text)
	}
	now := *s
	now.Events = nil
	src, err := now.Resolved()
	if err != nil {
		return nil, Event{}, err
	}
	p := &printer{tables: s.tables()}
	p.line("events:")
	for _, e := range s.Events {
		p.line("  - %s", e.Text())
	}
	p.line("  - {at: %v, %s}", at, text)
	then, err := s.reload("event", strings.Replace(string(src), "\nevents: []\n", "\n"+p.String(), 1))
	if list := (*yaml.Errors)(nil); errors.As(err, &list) {
		var all []string
		for _, e := range list.List {
			path := strings.TrimPrefix(e.Path, fmt.Sprintf("events[%d]", len(s.Events))) // the user has not written it in a list
			path = strings.TrimPrefix(path, ".")
			for i := range s.Events {
				if rest, ok := strings.CutPrefix(path, fmt.Sprintf("events[%d]", i)); ok {
					path = s.Events[i].Text() + rest
				}
			}
			if strings.HasPrefix(e.Message, `duplicate key "at"`) {
				return wrong("it happens now: leave out at")
			}
			all = append(all, strings.TrimPrefix(path+": "+e.Message, ": "))
		}
		return wrong("%s", strings.Join(all, "; "))
	} else if err != nil {
		return wrong("%v", err)
	}
	n := len(then.Events) - 1
	for i := range min(n, len(s.Events)) {
		was, cut := s.Events[i].Act.(BufferCut)
		if now, _ := then.Events[i].Act.(BufferCut); cut && now.Left != was.Left {
			return wrong("with it %s would leave less of the buffer: put the event into the scenario", s.Events[i].Text())
		}
	}
	// Near the end of the run flaps may be one event only: the link goes down and stays there.
	flaps := strings.Contains(text, "flap") && strings.Contains(text, "period")
	if n != len(s.Events) || !slices.Equal(then.Events[:n], s.Events) || flaps && then.Events[n].Touch().Down {
		return wrong("give one event, without a time, because it happens now, and without flaps, because they are several events: bring a link down, and later up")
	}
	e := then.Events[n]
	if x := e.Touch(); (x.Down || x.Up) && s.Routing.Recompute > 0 {
		return wrong("with routing.recompute the paths around a link that is down are computed before the run: put the event into the scenario")
	}
	same := *then
	same.Events = nil
	if part := differs(&now, &same); part != "" {
		return wrong("with it the %s would be different from the start: put the event into the scenario", part)
	}
	with := *s
	with.Events, with.loaded = append(slices.Clone(s.Events), e), nil
	return &with, e, nil
}

// Reroutes reports whether frames of a flow may change their path or their lane.
func (s *Scenario) Reroutes() bool { return s.Managed || s.Rerouted() }

// Rerouted reports whether the scenario says that routes or lanes change.
func (s *Scenario) Rerouted() bool {
	return s.Routing.Recompute > 0 || slices.ContainsFunc(s.Routes, func(r Route) bool { return r.Since > 0 }) ||
		slices.ContainsFunc(s.LaneRules, func(r LaneRule) bool { return r.Since > 0 })
}

// Opened returns s as a scenario that may receive events while it runs. Frames that these lose
// break no promise.
func (s *Scenario) Opened() *Scenario {
	open := *s
	open.Open = true
	return &open
}
