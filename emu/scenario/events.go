package scenario

import (
	"slices"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
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
