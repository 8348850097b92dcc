package scenario

// linkOf is where a link's values come from.
type linkOf struct {
	node   *node // the item
	rate   *node // nil: not given
	buffer *node // nil: the default

	flowControl *node // nil: the default
}

func (r *resolver) resolveLinks() {
	if n := r.root.get("links"); n == nil || n.bad {
		r.broken = true
	}
	for _, n := range r.items("links") {
		v := r.itemView("links", n)
		between := n.get("between")
		if n.bad || between == nil || between.bad {
			r.broken = true
			continue
		}
		j := between.value.(joint)
		known := r.known(between, between.inside(j.aAt), j.a, r.allMachines, "machine")
		known = r.known(between, between.inside(j.bAt), j.b, r.allMachines, "machine") && known
		if !known {
			r.broken = true
			continue
		}
		link := build[Link](v)
		of := linkOf{node: n}
		_, of.rate = v.at("rate")
		_, of.buffer = v.at("buffer")
		_, of.flowControl = v.at("flow-control")
		name, named := v.at("name")
		if named != nil && (j.a.ranged || j.b.ranged) {
			r.add(named.at, named.path,
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
	at, path := between.at, between.path
	switch {
	case link.A == link.B:
		r.add(at, path, "%s is linked to itself", link.A)
		return false
	case link.A+"-"+link.B == link.B+"-"+link.A:
		r.add(at, path, "the directions of this link would both be called %q: rename one of the machines",
			link.A+"-"+link.B)
		return false
	}
	if named != nil {
		at, path = named.at, named.path
	}
	if first := r.linkNames[link.Name]; first != nil {
		if named == nil {
			r.add(at, path, "%s and %s are linked twice; the first link is given%s. If two are meant, give each a name",
				link.A, link.B, inLine(first.at))
		} else {
			r.add(at, path, "the name %q is used twice: a link has it already%s", link.Name, inLine(first.at))
		}
		return false
	}
	// A named link beside an unnamed one is as much in doubt as two unnamed.
	for _, i := range r.machines[link.A].links {
		other := r.s.Links[i]
		if !(other.A == link.B && other.B == link.A || other.A == link.A && other.B == link.B) {
			continue
		}
		if named == nil || other.Name == other.A+" - "+other.B {
			r.add(at, path, "%s and %s are linked twice; the first link is given%s. If two are meant, give each a name",
				link.A, link.B, inLine(r.links[i].node.at))
			return false
		}
	}
	r.linkNames[link.Name] = of.node
	for _, name := range []string{link.A, link.B} {
		m := r.machines[name]
		m.links = append(m.links, len(r.s.Links))
		m.linkAt = append(m.linkAt, between.at)
	}
	r.s.Links = append(r.s.Links, link)
	r.links = append(r.links, of)
	return true
}

// inLine tells where something stands, as the end of a clause.
func inLine(at place) string {
	switch {
	case at.set != nil:
		return " by " + at.set.said()
	case at.line > 0:
		return " in line " + itoa(at.line)
	}
	return ""
}
