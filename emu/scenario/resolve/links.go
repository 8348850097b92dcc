package resolve

import (
	"fmt"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/unit"
)

// connect builds the nodes, the links and the routes, and reports links that cannot be.
func (r *resolver) connect() {
	r.buildNodes()
	for n, v := range r.all("links") {
		between := n.Get("between")
		joint, ok := r.jointOf(n)
		if !ok {
			continue
		}
		link, of := linkOf(v), r.originOf("links", n, v)
		link.Retry = retryOf(v)
		for _, ends := range joint.Ends() {
			link.A, link.B = ends[0], ends[1]
			link.Name = link.A + " - " + link.B
			if name, given := v.At("name"); given != nil {
				link.Name = name.(string)
			}
			r.addLink(link, of, between)
		}
	}
	r.checkRates()
	if !r.fabricLost {
		r.resolveRoutes()
		r.resolveLanes()
	}
}

// addLink enters a link, unless something like it is there.
func (r *resolver) addLink(link scenario.Link, of origin, between *yaml.Node) {
	a, b := r.nodes[link.A], r.nodes[link.B]
	if a == nil || b == nil {
		r.fabricLost = true
		return
	}
	at, own := of.View.Spot("name", between.Spot), link.A+" - "+link.B
	switch {
	case link.A == link.B:
		r.Add(between.Spot, "%s is linked to itself", link.A)
		r.fabricLost = true
		return
	case link.A+"-"+link.B == link.B+"-"+link.A:
		r.Add(between.Spot, "the directions of this link would both be called %q: rename one of the nodes", link.A+"-"+link.B)
		r.fabricLost = true
		return
	}
	// Two links between the same nodes need a name each.
	for _, i := range a.Links {
		other := r.s.Links[i]
		joins := other.A == link.B && other.B == link.A || other.A == link.A && other.B == link.B
		if joins && (link.Name == own || other.Name == other.A+" - "+other.B) {
			r.Add(at, "%s and %s are linked twice; the first link is given%s. If you want two, give each a name",
				link.A, link.B, place.InLine(r.linkOrigins[i].At))
			r.fabricLost = true
			return
		}
	}
	for _, m := range [2]*node{a, b} {
		m.Links = append(m.Links, len(r.s.Links))
		m.LinkAt = append(m.LinkAt, between.At)
	}
	of.Index = len(r.s.Links)
	r.s.Links = append(r.s.Links, link)
	r.linkOrigins = append(r.linkOrigins, of)
	r.LinkOrigins = append(r.LinkOrigins, of.origin())
}

// checkRates reports the links without a rate, once.
func (r *resolver) checkRates() {
	var missing []*yaml.Node
	for l, of := range each(r.s.Links, r.linkOrigins) {
		if l.Rate == 0 && r.rightItem("links", of.Node) && !slices.Contains(missing, of.Node) {
			missing = append(missing, of.Node)
		}
	}
	others := ""
	switch n := len(missing) - 1; {
	case n < 0:
		return
	case n > 0:
		others = fmt.Sprintf(" (items without one: %d)", n+1)
	}
	r.Add(missing[0].Field("rate"),
		"the link has no rate%s: give it one, such as rate: 1GB/s, or all of them under defaults.link", others)
}

func (r *resolver) resolveRoutes() {
	type known struct {
		at, to string
		since  unit.Duration
	}
	seen := map[known]*yaml.Node{}
	for n, v := range r.items("routes") {
		route, to := yaml.Build[scenario.Route](v), n.Get("to")
		if route.Since > 0 && r.leaves(n, route.Since, route.At, "the route counts since %v, but %s") {
			continue
		}
		if route.Since > 0 && r.s.Routing.Recompute > 0 {
			r.Add(n.Get("since").Spot, "since and routing.recompute exclude each other: with since, the file says when routes change")
		}
		if !slices.ContainsFunc(r.nodes[route.At].Links, func(i int) bool { return r.s.Links[i].Name == route.Over }) {
			r.Add(n.Get("over").Spot, "link %s does not end at %s", route.Over, route.At)
		}
		for name := range to.Value.(pattern.Names).All() {
			key := known{route.At, name, route.Since}
			if first, twice := seen[key]; twice {
				r.Add(to.Spot, "%s has a route to %s already%s", route.At, name, place.InLine(first.At))
			}
			seen[key] = to
			route.To = name
			r.s.Routes = append(r.s.Routes, route)
		}
	}
}
