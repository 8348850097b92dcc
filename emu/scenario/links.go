package scenario

import (
	"slices"
)

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
		link, of := newLink(v), origin{node: n, view: v}
		link.Retry = newRetry(v)
		name, named := v.at("name")
		if named != nil && (j.a.ranged || j.b.ranged) {
			r.add(named.spot,
				"%s makes %d links, which cannot all have the name %q: leave the name out, or give the links one by one",
				between.text, len(j.ends()), name)
			r.broken = true
			continue
		}
		for _, ends := range j.ends() {
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
func (r *resolver) addLink(link Link, of origin, named, between *node) bool {
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
	first := r.linkNames[link.Name]
	if first != nil && named != nil {
		r.add(at, "the name %q is used twice: a link has it already%s", link.Name, inLine(first.at))
		return false
	}
	// A named link beside an unnamed one is as doubtful as two unnamed.
	for _, i := range r.machines[link.A].links {
		other := r.s.Links[i]
		joins := other.A == link.B && other.B == link.A || other.A == link.A && other.B == link.B
		if first == nil && joins && (named == nil || other.Name == other.A+" - "+other.B) {
			first = r.links[i].node
		}
	}
	if first != nil {
		r.add(at, "%s and %s are linked twice; the first link is given%s. If two are meant, give each a name",
			link.A, link.B, inLine(first.at))
		return false
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

// inLine returns a place as the end of a clause.
func inLine(at place) string {
	switch {
	case at.set != nil:
		return " by " + at.set.source()
	case at.line > 0:
		return " in line " + itoa(at.line)
	}
	return ""
}

func (r *resolver) resolveRoutes() {
	seen := map[[2]*machine]place{}
	for n, v := range r.items("routes") {
		at, to, over := n.sound("at"), n.sound("to"), n.sound("over")
		if n.bad || at == nil || to == nil || over == nil {
			r.misled = true
			continue
		}
		route := build[Route](v)
		ok := r.knownLink(over, route.Over)
		p := to.value.(pattern)
		ok = r.known(to, whole, p, (*resolver).allEndpoints, "endpoint") && ok
		ok = r.knownSwitch(at, route.At) && ok
		takes := func(i int) bool { return r.s.Links[i].Name == route.Over }
		if ok && !r.broken && !slices.ContainsFunc(r.machines[route.At].links, takes) {
			r.add(over.spot, "link %s does not end at %s", route.Over, route.At)
			ok = false
		}
		if !ok {
			r.misled = true
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
}
