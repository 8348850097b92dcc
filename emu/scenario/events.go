package scenario

import (
	"fmt"
	"strings"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// The keys of an event that say what happens, and the one that says to what.
var (
	linkChanges     = []string{"rate", "state"}
	endpointChanges = []string{"service", "pause-storm"}
)

func (r *resolver) resolveEvents(sh *shape) {
	item := sh.field("events").shape.item
	for _, n := range r.items("events") {
		v := view{shape: item, chain: []*node{n}}
		e := Event{
			At: get[unit.Duration](v, "at"), Link: get[string](v, "link"), Endpoint: get[string](v, "endpoint"),
			Rate: get[unit.Rate](v, "rate"), State: get[string](v, "state"),
			Service: get[unit.Rate](v, "service"), PauseStorm: get[string](v, "pause-storm"),
		}
		late := false
		if at := n.get("at"); at != nil && !at.bad && r.s.Model.Duration > 0 && e.At >= r.s.Model.Duration {
			if late = r.cut.set != nil; late {
				r.left.events = append(r.left.events, fmt.Sprintf("%s at %v", e.Link+e.Endpoint, e.At))
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
	r.add(n.at, n.path, "there is no link named %q%s: there are %s", name, didYouMean(nearest(name, names)), someOf(byNearness(name, names)))
	return false
}

// checkEndpointEvent refuses an endpoint that there is not, or that has no adapter to
// change.
func (r *resolver) checkEndpointEvent(n *node, e *Event) {
	m := r.machines[e.Endpoint]
	switch {
	case m == nil && r.partial:
	case m == nil || m.isSwitch:
		r.add(n.at, n.path, "there is no endpoint named %q%s", e.Endpoint, didYouMean(nearest(e.Endpoint, r.allEndpoints())))
	case r.broken || len(m.links) == 0:
	case r.family(e.Endpoint) == wire.InfiniBand:
		r.add(n.at, n.path, "%s has a link with flow-control: credit: a service rate and a pause storm are there on Ethernet only", e.Endpoint)
	case e.PauseStorm != "" && r.s.Links[m.links[0]].FlowControl == "none":
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
	ofLink, ofEndpoint := given(linkChanges), given(endpointChanges)
	all := append(ofLink, ofEndpoint...)
	link, end := n.get("link") != nil, n.get("endpoint") != nil
	switch {
	case len(all) == 0:
		r.add(n.at, n.path, "nothing happens: an event gives a link its rate or state, or an endpoint its service or pause-storm")
	case len(all) > 1:
		r.add(n.at, n.path, "%s are given: an event changes one thing, and two can be at the same time", strings.Join(all, " and "))
	case len(ofLink) == 1 && (!link || end):
		r.add(n.at, n.path, "%s is of a link: name it, and no endpoint", all[0])
	case len(ofEndpoint) == 1 && (!end || link):
		r.add(n.at, n.path, "%s is of an endpoint: name it, and no link", all[0])
	}
}
