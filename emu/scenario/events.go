package scenario

import (
	"fmt"

	"fabemu/wire/unit"
)

func (r *resolver) resolveEvents(sh *shape) {
	item := sh.field("events").shape.item
	for _, n := range r.items("events") {
		v := view{shape: item, chain: []*node{n}}
		e := Event{At: get[unit.Duration](v, "at"), Link: get[string](v, "link"), Rate: get[unit.Rate](v, "rate")}
		late := false
		if at := n.get("at"); at != nil && !at.bad && r.s.Model.Duration > 0 && e.At >= r.s.Model.Duration {
			if late = r.cut.set != nil; late {
				r.left.events = append(r.left.events, fmt.Sprintf("%s at %v", e.Link, e.At))
			} else {
				r.add(at.at, at.path, "the event is at %v, but %s", e.At, r.runEnds())
			}
		}
		if link := n.get("link"); link != nil && !link.bad && r.linkNames[e.Link] == nil && !r.broken {
			var names []string
			for _, l := range r.s.Links {
				names = append(names, l.Name)
			}
			r.add(link.at, link.path, "there is no link named %q%s: there are %s", e.Link, didYouMean(nearest(e.Link, names)), someOf(byNearness(e.Link, names)))
		}
		if !late {
			r.s.Events = append(r.s.Events, e)
		}
	}
}
