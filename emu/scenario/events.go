package scenario

import (
	"fmt"
	"strings"

	"fabemu/wire"
	"fabemu/wire/port"
)

// The keys of an event that say what happens, and the one that says to what.
var (
	linkChanges     = []string{"rate", "state"}
	endpointChanges = []string{"service", "pause-storm"}
	switchChanges   = []string{"restart"}
)

func (r *resolver) resolveEvents() {
	for _, n := range r.items("events") {
		e := build[Event](r.itemView("events", n))
		late := false
		if at := n.get("at"); at != nil && !at.bad && r.s.Model.Duration > 0 && e.At >= r.s.Model.Duration {
			if late = r.cut.set != nil; late {
				r.left.events = append(r.left.events, fmt.Sprintf("%s at %v", e.Link+e.Endpoint+e.Switch, e.At))
			} else {
				r.add(at.at, at.path, "the event is at %v, but %s", e.At, r.runEnds())
			}
		}
		if link := n.get("link"); link != nil && !link.bad {
			r.knownLink(link, e.Link)
		}
		if end := n.get("endpoint"); end != nil && !end.bad {
			r.checkEndpointEvent(end, &e)
		}
		if sw := n.get("switch"); sw != nil && !sw.bad {
			if m := r.machines[e.Switch]; (m == nil || !m.isSwitch) && !r.partial {
				r.add(sw.at, sw.path, "there is no switch named %q%s", e.Switch, listNames(e.Switch, r.allSwitches()))
			}
		}
		r.checkChange(n)
		if !late {
			r.s.Events = append(r.s.Events, e)
		}
	}
}

// knownLink reports a link that there is not.
func (r *resolver) knownLink(n *node, name string) bool {
	if r.linkNames[name] != nil || r.broken {
		return true
	}
	var names []string
	for _, l := range r.s.Links {
		names = append(names, l.Name)
	}
	r.add(n.at, n.path, "there is no link named %q%s", name, listNames(name, names))
	return false
}

// checkEndpointEvent refuses an endpoint that there is not, or that has no adapter to
// change.
func (r *resolver) checkEndpointEvent(n *node, e *Event) {
	m := r.machines[e.Endpoint]
	switch {
	case m == nil && r.partial:
	case m == nil || m.isSwitch:
		r.add(n.at, n.path, "there is no endpoint named %q%s", e.Endpoint, listNames(e.Endpoint, r.allEndpoints()))
	case r.broken || len(m.links) == 0:
	case e.PauseStorm != "" && r.family(e.Endpoint) == wire.InfiniBand:
		r.add(n.at, n.path,
			"%s has a link with flow-control: credit: a pause storm is there on Ethernet only", e.Endpoint)
	case e.PauseStorm != "" && r.s.Links[m.links[0]].FlowControl == port.NoFlowControl:
		r.add(n.at, n.path, "%s cannot pause its peer: its link has flow-control: none", e.Endpoint)
	}
}

// checkChange refuses an event that does not change one thing of a link or an
// endpoint.
func (r *resolver) checkChange(n *node) {
	if n.bad {
		return
	}
	given := func(names []string) (all []string) {
		for _, name := range names {
			if n.get(name) != nil {
				all = append(all, name)
			}
		}
		return all
	}
	kinds := []struct {
		of      string // what an event of the kind names
		changes []string
	}{{"link", linkChanges}, {"endpoint", endpointChanges}, {"switch", switchChanges}}
	var all []string
	var of string
	var others []string // what is named although it does not change
	for _, k := range kinds {
		if changes := given(k.changes); len(changes) > 0 {
			all, of = append(all, changes...), k.of
		}
	}
	for _, k := range kinds {
		if k.of != of && n.get(k.of) != nil {
			others = append(others, k.of)
		}
	}
	switch {
	case len(all) == 0:
		r.add(n.at, n.path,
			"nothing happens: an event gives a link its rate or state, an endpoint its service or pause-storm, or a switch its restart")
	case len(all) > 1:
		r.add(n.at, n.path, "%s are given: an event changes one thing, and two can be at the same time",
			strings.Join(all, " and "))
	case n.get(of) == nil || len(others) > 0:
		article := "a"
		if of == "endpoint" {
			article = "an"
		}
		r.add(n.at, n.path, "%s is of %s %s: name it, and nothing else", all[0], article, of)
	}
}
