package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// change is what may change of a kind of things.
type change struct {
	of   string
	keys []string
}

// changes are the keys of an event that say what happens, by the key that says to what.
var changes = [...]change{{"link", []string{"rate", "state"}}, {"endpoint", []string{"service", "pause-storm"}}, {"switch", []string{"restart"}}}

func (r *resolver) resolveEvents() {
	for n, v := range r.items("events") {
		e := build[Event](v)
		late := r.leaves(n, e.At, e.Link+e.Endpoint+e.Switch, "the event is at %v, but %s")
		if link := n.sound("link"); link != nil {
			r.knownLink(link, e.Link)
		}
		if end := n.sound("endpoint"); end != nil {
			r.checkEndpointEvent(end, &e)
		}
		if sw := n.sound("switch"); sw != nil {
			r.knownSwitch(sw, e.Switch)
		}
		r.checkChange(n)
		if !late {
			r.s.Events = append(r.s.Events, e)
		}
	}
}

// knownLink reports a link that there is not.
func (r *resolver) knownLink(n *node, name string) bool {
	if r.linkNames[name] != nil || r.broken || r.nameless {
		return true
	}
	for _, m := range r.machines {
		if len(m.links) == 0 { // it may be the link that the machine lacks
			return false
		}
	}
	if !r.firstMissing(name) {
		return false
	}
	names := namesOf(r.s.Links, func(l *Link) string { return l.Name })
	r.add(n.spot, "there is no link named %q%s", name, listNames(name, names))
	return false
}

// checkEndpointEvent refuses an endpoint that there is not, or that has no adapter to
// change.
func (r *resolver) checkEndpointEvent(n *node, e *Event) {
	m := r.machines[e.Endpoint]
	switch {
	case m == nil && r.partial:
	case m == nil && !r.firstMissing(e.Endpoint):
	case m == nil || m.isSwitch:
		r.add(n.spot, "there is no endpoint named %q%s", e.Endpoint, listNames(e.Endpoint, r.allEndpoints()))
	case r.broken || r.doubtful(e.Endpoint):
	case e.PauseStorm != "" && r.family(e.Endpoint) == wire.InfiniBand:
		r.add(n.spot,
			"%s has a link with flow-control: credit: a pause storm is there on Ethernet only", e.Endpoint)
	case e.PauseStorm != "" && r.s.Links[m.links[0]].FlowControl == port.NoFlowControl:
		r.add(n.spot, "%s cannot pause its peer: its link has flow-control: none", e.Endpoint)
	}
}

// checkChange refuses an event that does not change one thing of a link or an
// endpoint.
func (r *resolver) checkChange(n *node) {
	if n.bad {
		return
	}
	var all []string
	var of string
	for _, c := range changes {
		for _, key := range c.keys {
			if n.get(key) != nil {
				all, of = append(all, key), c.of
			}
		}
	}
	others := slices.ContainsFunc(changes[:], func(c change) bool { return c.of != of && n.get(c.of) != nil })
	switch {
	case len(all) == 0:
		r.add(n.spot,
			"nothing happens: an event gives a link its rate or state, an endpoint its service or pause-storm, or a switch its restart")
	case len(all) > 1:
		r.add(n.spot, "%s are given: an event changes one thing, and two can be at the same time",
			strings.Join(all, " and "))
	case n.get(of) == nil || others:
		article := "a"
		if of == "endpoint" {
			article = "an"
		}
		r.add(n.spot, "%s is of %s %s: name it, and nothing else", all[0], article, of)
	}
}

// Change is an instant at which an event changes the fabric.
type Change struct {
	At   unit.Time
	What string // "link trunk down"
}

// Changes returns when the events of s change the fabric, by time. An event that takes its
// change back, such as a restart, makes two.
func (s *Scenario) Changes() []Change {
	var all []Change
	add := func(at unit.Duration, format string, args ...any) {
		if at < s.Model.Duration {
			all = append(all, Change{unit.Time(at), fmt.Sprintf(format, args...)})
		}
	}
	for i := range s.Events {
		switch e := &s.Events[i]; {
		case e.Restart != 0:
			add(e.At, "switch %s restarts", e.Switch)
			add(e.At+e.Restart, "switch %s is back", e.Switch)
		case e.State != "":
			add(e.At, "link %s %s", e.Link, e.State)
		case e.PauseStorm != "":
			add(e.At, "endpoint %s: pause storm %s", e.Endpoint, e.PauseStorm)
		case e.Service != 0:
			add(e.At, "endpoint %s: service %s", e.Endpoint, builtIn().section("events").Find("service").Text(*e))
		default:
			add(e.At, "link %s at %v", e.Link, e.Rate)
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return all
}

// Happen reads an event that comes to a scenario while it runs, and returns the scenario with
// it, and the event. The text is an item of events without its time, "link: trunk, rate:
// 5Gb/s", in braces or not; the event is at an instant within the run. It is checked like one
// that stands in the file, and refused, with all that is wrong, where the fabric would have
// been laid out differently with it from the start: with more headroom, or other ways.
func (s *Scenario) Happen(text string, at unit.Duration) (*Scenario, Event, error) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "}"))
	}
	wrong := func(format string, args ...any) (*Scenario, Event, error) {
		return nil, Event{}, fmt.Errorf("event {%s}: "+format, append([]any{text}, args...)...)
	}
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return nil, Event{}, fmt.Errorf("event %q: one line is wanted, such as {link: trunk, rate: 5Gb/s}", text)
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
		p.item(fieldsOf(p.tables.section("events"), e, ", "))
	}
	p.line("  - {at: %v, %s}", at, text)
	var opts []Option
	if s.Schemes != nil {
		opts = append(opts, WithSchemes(*s.Schemes))
	}
	then, err := Load("event", []byte(strings.Replace(string(src), "\nevents: []\n", "\n"+p.String(), 1)), nil, opts...)
	if list := (*Errors)(nil); errors.As(err, &list) {
		var all []string
		for _, e := range list.List {
			all = append(all, strings.TrimPrefix(e.Path+": "+e.Message, ": "))
		}
		return wrong("%s", strings.Join(all, "; "))
	} else if err != nil {
		return wrong("%v", err)
	}
	n := len(then.Events) - 1
	if n != len(s.Events) || !slices.Equal(then.Events[:n], s.Events) {
		return wrong("one event is wanted, without a time: it happens now")
	}
	e := then.Events[n]
	if (e.State != "" || e.Restart > 0) && s.Routing.Recompute > 0 {
		return wrong("with routing.recompute the ways around what is down are computed before the run: have it stand in the scenario")
	}
	same := *then
	same.Events = nil
	if what := differs(&now, &same); what != "" {
		return wrong("with it the %s would be different from the start: have it stand in the scenario", what)
	}
	with := *s
	with.Events, with.loaded = append(slices.Clone(s.Events), e), nil
	return &with, e, nil
}

// Opened returns s as one to which events may come while it runs: what they may lose is then
// no broken promise.
func (s *Scenario) Opened() *Scenario {
	open := *s
	open.Open = true
	return &open
}

// Text returns an event as it stands in a list of events: "{at: 2s, link: trunk, rate: 5Gb/s}".
func (e Event) Text() string {
	p := &printer{tables: builtIn()}
	p.item(fieldsOf(p.tables.section("events"), e, ", "))
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(p.String()), "- "))
}
