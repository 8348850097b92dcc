package scenario

import (
	"fmt"
	"slices"

	"fabemu/wire/unit"
)

// connect builds the nodes, the links and the routes, and reports links that cannot be.
func (r *resolver) connect() {
	r.buildNodes()
	for n, v := range r.items("links") {
		between := n.get("between")
		link, of := newLink(v), origin{node: n, view: v}
		link.Retry = newRetry(v)
		for _, ends := range between.value.(joint).ends() {
			link.A, link.B = ends[0], ends[1]
			link.Name = link.A + " - " + link.B
			if name, given := v.at("name"); given != nil {
				link.Name = name.(string)
			}
			r.addLink(link, of, between)
		}
	}
	r.checkRates()
	r.resolveRoutes()
	r.resolveLanes()
}

// addLink enters a link, unless something like it is there.
func (r *resolver) addLink(link Link, of origin, between *node) {
	at, own := of.view.spot("name", between.spot), link.A+" - "+link.B
	switch {
	case link.A == link.B:
		r.add(between.spot, "%s is linked to itself", link.A)
		return
	case link.A+"-"+link.B == link.B+"-"+link.A:
		r.add(between.spot, "the directions of this link would both be called %q: rename one of the nodes", link.A+"-"+link.B)
		return
	}
	// Two links between the same nodes need a name each.
	for _, i := range r.nodes[link.A].links {
		other := r.s.Links[i]
		joins := other.A == link.B && other.B == link.A || other.A == link.A && other.B == link.B
		if joins && (link.Name == own || other.Name == other.A+" - "+other.B) {
			r.add(at, "%s and %s are linked twice; the first link is given%s. If you want two, give each a name",
				link.A, link.B, inLine(r.links[i].at))
			return
		}
	}
	for _, name := range []string{link.A, link.B} {
		m := r.nodes[name]
		m.links = append(m.links, len(r.s.Links))
		m.linkAt = append(m.linkAt, between.at)
	}
	of.index = len(r.s.Links)
	r.s.Links = append(r.s.Links, link)
	r.links = append(r.links, of)
}

// checkRates reports the links without a rate, once.
func (r *resolver) checkRates() {
	var missing []*node
	for l, of := range each(r.s.Links, r.links) {
		if l.Rate == 0 && !slices.Contains(missing, of.node) {
			missing = append(missing, of.node)
		}
	}
	others := ""
	switch n := len(missing) - 1; {
	case n < 0:
		return
	case n > 0:
		others = fmt.Sprintf(" (items without one: %d)", n+1)
	}
	r.add(missing[0].field("rate"),
		"the link has no rate%s: give it one, such as rate: 1GB/s, or all of them under defaults.link", others)
}

func (r *resolver) resolveRoutes() {
	type known struct {
		at, to string
		since  unit.Duration
	}
	seen := map[known]*node{}
	for n, v := range r.items("routes") {
		route, to := build[Route](v), n.get("to")
		if route.Since > 0 && r.leaves(n, route.Since, route.At, "the route counts since %v, but %s") {
			continue
		}
		if route.Since > 0 && r.s.Routing.Recompute > 0 {
			r.add(n.get("since").spot, "since and routing.recompute exclude each other: with since, the file says when routes change")
		}
		if !slices.ContainsFunc(r.nodes[route.At].links, func(i int) bool { return r.s.Links[i].Name == route.Over }) {
			r.add(n.get("over").spot, "link %s does not end at %s", route.Over, route.At)
		}
		for name := range to.value.(pattern).all() {
			key := known{route.At, name, route.Since}
			if first, twice := seen[key]; twice {
				r.add(to.spot, "%s has a route to %s already%s", route.At, name, inLine(first.at))
			}
			seen[key] = to
			route.To = name
			r.s.Routes = append(r.s.Routes, route)
		}
	}
}
