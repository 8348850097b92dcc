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

// connect builds the nodes, the links and the routes of a scenario that has only its head, and
// reports links that cannot be.
func connect(src *source, declared *names, head scenario.Scenario, run span) *fabric {
	r := &fabric{source: src, names: declared, lost: declared.lost,
		Site: &scenario.Site{Scenario: &head, Top: headsOf(src.Root, src.language), Tables: src.language, Nodes: make(map[string]*scenario.NodeRef, len(declared.nodes))}}
	r.buildNodes()
	for n, v := range r.all("links") {
		between := n.Get("between")
		joint, ok := jointOf(src, n)
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
	if !r.lost {
		r.resolveRoutes(run)
		r.resolveLanes(run)
		r.checkEnds()
	}
	if r.linked() {
		r.checkFamilies()
		r.adaptEndpoints()
		r.addressGuests()
	}
	return r
}

// addLink enters a link, unless something like it is there.
func (r *fabric) addLink(link scenario.Link, of origin, between *yaml.Node) {
	a, b := r.Nodes[link.A], r.Nodes[link.B]
	if a == nil || b == nil {
		r.lost = true
		return
	}
	at, own := of.View.Spot("name", between.Spot), link.A+" - "+link.B
	switch {
	case link.A == link.B:
		r.Add(between.Spot, "%s is linked to itself", link.A)
		r.lost = true
		return
	case link.A+"-"+link.B == link.B+"-"+link.A:
		r.Add(between.Spot, "the directions of this link would both be called %q: rename one of the nodes", link.A+"-"+link.B)
		r.lost = true
		return
	}
	// Two links between the same nodes need a name each.
	for _, i := range a.Links {
		other := r.Links[i]
		joins := other.A == link.B && other.B == link.A || other.A == link.A && other.B == link.B
		if joins && (link.Name == own || other.Name == other.A+" - "+other.B) {
			r.Add(at, "%s and %s are linked twice; the first link is given%s. If you want two, give each a name",
				link.A, link.B, place.InLine(r.origins[i].At))
			r.lost = true
			return
		}
	}
	for _, m := range [2]*scenario.NodeRef{a, b} {
		m.Links = append(m.Links, len(r.Links))
	}
	of.Index = len(r.Links)
	r.Links = append(r.Links, link)
	r.origins = append(r.origins, of)
	r.LinkOrigins = append(r.LinkOrigins, scenario.Origin{Item: of.item, Index: of.Index})
}

// checkRates reports the links without a rate, once.
func (r *fabric) checkRates() {
	var missing []*yaml.Node
	for l, of := range each(r.Links, r.origins) {
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

func (r *fabric) resolveRoutes(run span) {
	type known struct {
		at, to string
		since  unit.Duration
	}
	seen := map[known]*yaml.Node{}
	for n, v := range r.items("routes", new(bool)) {
		route, to := yaml.Build[scenario.Route](v), n.Get("to")
		if route.Since > 0 && run.leaves(&r.left, n, route.Since, route.At, "the route counts since %v, but %s") {
			continue
		}
		if route.Since > 0 && r.Routing.Recompute > 0 {
			r.Add(n.Get("since").Spot, "since and routing.recompute exclude each other: with since, the file says when routes change")
		}
		if !slices.ContainsFunc(r.Nodes[route.At].Links, func(i int) bool { return r.Links[i].Name == route.Over }) {
			r.Add(n.Get("over").Spot, "link %s does not end at %s", route.Over, route.At)
		}
		for name := range to.Value.(pattern.Names).All() {
			key := known{route.At, name, route.Since}
			if first, twice := seen[key]; twice {
				r.Add(to.Spot, "%s has a route to %s already%s", route.At, name, place.InLine(first.At))
			}
			seen[key] = to
			route.To = name
			r.Routes = append(r.Routes, route)
		}
	}
}
