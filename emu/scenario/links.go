package scenario

import (
	"slices"
)

// linkOf is where a link's values come from.
type linkOf struct {
	*node // of the list
	view  view
	index int // in s.Links
}

func (r *resolver) resolveLinks() {
	if n := r.root.get("links"); n == nil || n.bad {
		r.broken = true
	}
	for n, v := range r.items("links") {
		r.nameless = r.nameless || v.refused("name")
		between := n.sound("between")
		if n.bad || between == nil {
			r.broken = true
			continue
		}
		j := between.value.(joint)
		known := r.known(between, j.aAt, j.a, (*resolver).allMachines, "machine")
		known = r.known(between, j.bAt, j.b, (*resolver).allMachines, "machine") && known
		if !known {
			r.broken = true
			continue
		}
		link, of := build[Link](v), linkOf{node: n, view: v}
		name, named := v.at("name")
		if named != nil && (j.a.ranged || j.b.ranged) {
			r.add(named.spot,
				"%s makes %d links, which cannot all be named %q: leave the name out, or give the links one by one",
				between.text, max(j.a.size(), j.b.size()), name)
			r.broken = true
			continue
		}
		for _, ends := range pairs(j.a, j.b) {
			link.A, link.B = ends[0], ends[1]
			link.Name = link.A + " - " + link.B
			if named != nil {
				link.Name = name.(string)
			}
			if !r.addLink(link, of, named, between) {
				r.broken = true
				break // the rest of a range is likely to be as wrong
			}
		}
	}
}

// addLink enters a link, unless something like it is there.
func (r *resolver) addLink(link Link, of linkOf, named, between *node) bool {
	at := between.spot
	switch {
	case link.A == link.B:
		r.add(at, "%s is linked to itself", link.A)
		return false
	case link.A+"-"+link.B == link.B+"-"+link.A:
		r.add(at, "the directions of this link would both be called %q: rename one of the machines",
			link.A+"-"+link.B)
		return false
	}
	if named != nil {
		at = named.spot
	}
	twice := func(first *node) bool {
		r.add(at, "%s and %s are linked twice; the first link is given%s. If two are meant, give each a name",
			link.A, link.B, inLine(first.at))
		return false
	}
	switch first := r.linkNames[link.Name]; {
	case first != nil && named == nil:
		return twice(first)
	case first != nil:
		r.add(at, "the name %q is used twice: a link has it already%s", link.Name, inLine(first.at))
		return false
	}
	// A named link beside an unnamed one is as much in doubt as two unnamed.
	for _, i := range r.machines[link.A].links {
		other := r.s.Links[i]
		if !(other.A == link.B && other.B == link.A || other.A == link.A && other.B == link.B) {
			continue
		}
		if named == nil || other.Name == other.A+" - "+other.B {
			return twice(r.links[i].node)
		}
	}
	r.linkNames[link.Name] = of.node
	for _, name := range []string{link.A, link.B} {
		m := r.machines[name]
		m.links = append(m.links, len(r.s.Links))
		m.linkAt = append(m.linkAt, between.at)
	}
	of.index = len(r.s.Links)
	r.s.Links = append(r.s.Links, link)
	r.links = append(r.links, of)
	return true
}

// inLine returns where something stands, as the end of a clause.
func inLine(at place) string {
	switch {
	case at.set != nil:
		return " by " + at.set.said()
	case at.line > 0:
		return " in line " + itoa(at.line)
	}
	return ""
}

func (r *resolver) resolveRoutes() {
	seen, wrong := map[[2]*machine]place{}, false
	if routes := r.root.get("routes"); routes != nil {
		seen = make(map[[2]*machine]place, len(routes.items))
		r.s.Routes = slices.Grow(r.s.Routes, len(routes.items))
	}
	for n, v := range r.items("routes") {
		at, to, over := n.sound("at"), n.sound("to"), n.sound("over")
		if n.bad || at == nil || to == nil || over == nil {
			wrong = true
			continue
		}
		route := build[Route](v)
		ok := r.knownLink(over, route.Over)
		p := to.value.(pattern)
		ok = r.known(to, whole, p, (*resolver).allEndpoints, "endpoint") && ok
		ok = r.knownSwitch(at, route.At) && ok
		if ok && !r.broken && !r.ends(r.machines[route.At], route.Over) {
			r.add(over.spot, "link %s does not end at %s", route.Over, route.At)
			ok = false
		}
		if !ok {
			wrong = true
			continue
		}
		for name := range p.all() {
			key := [2]*machine{r.machines[route.At], r.machines[name]}
			if first, twice := seen[key]; twice {
				r.add(to.spot, "%s has a route to %s already%s", route.At, name, inLine(first))
				break
			}
			seen[key] = to.at
			route.To = name
			r.s.Routes = append(r.s.Routes, route)
		}
	}
	r.misled = wrong
}

// ends reports whether a link ends at a machine.
func (r *resolver) ends(m *machine, link string) bool {
	return slices.ContainsFunc(m.links, func(i int) bool { return r.s.Links[i].Name == link })
}
