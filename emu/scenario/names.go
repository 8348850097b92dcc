package scenario

import (
	"maps"
	"slices"

	"fabemu/wire"
)

// nodeRef is a switch or an endpoint of the file.
type nodeRef struct {
	spot
	name     string
	isSwitch bool
	index    int     // in s.Switches or s.Endpoints
	links    []int   // links that end here
	linkAt   []place // of each of them
	view     view    // its fields
}

// once reports items of lists that have the same name or number. Values may be wrong.
func (r *resolver) once() {
	r.checkOnce(r.root.get("flows"), "name", "duplicate name %q: a flow has it already%s")
	r.checkOnce(r.root.get("expect"), "id", "duplicate id %q: a check has it already%s")
	r.checkOnce(r.top().sub("model").list("dscp"), "dscp", "the DSCP %s has a priority already%s")
	for _, v := range r.items("switches") {
		r.checkOnce(v.list("ets"), "priority", "priority %s has a weight already%s")
	}
}

// names declares the switches, endpoints and links of the file, and reports names that are used
// twice or do not exist. Values elsewhere may be wrong.
func (r *resolver) names() {
	r.declareSwitches()
	r.declareEndpoints()
	r.declareLinks()
	r.declareFlows()
	for n := range r.items("links") {
		j := n.get("between").value.(joint)
		r.known(r.inside(n.get("between"), j.aAt), j.a, "node")
		r.known(r.inside(n.get("between"), j.bAt), j.b, "node")
	}
	for _, ref := range []struct{ section, key, kind string }{
		{"routes", "at", "switch"}, {"routes", "to", "endpoint"}, {"routes", "over", "link"},
		{"sl2vl", "at", "node"}, {"sl2vl", "from", "link"}, {"sl2vl", "over", "link"},
		{"flows", "from", "endpoint"}, {"flows", "to", "endpoint"}, {"workload", "over", "endpoint"},
		{"events", "link", "link"}, {"events", "endpoint", "endpoint"}, {"events", "switch", "switch"},
		{"faults", "link", "link"}, {"faults", "endpoint", "endpoint"}, {"faults", "switch", "switch"},
		{"programs", "on", "endpoint"},
	} {
		for n := range r.items(ref.section) {
			r.refer(n.get(ref.key), ref.kind)
		}
	}
}

func (r *resolver) declareSwitches() {
	if n := r.root.get("switches"); n != nil {
		for _, e := range n.entries {
			p, _ := parsePattern(e.key)
			m := nodeRef{spot: spot{e.at, e.value.path}, isSwitch: true, view: r.itemView("switches", e.value)}
			r.switches = r.declare(r.switches, m, p)
		}
	}
}

func (r *resolver) declareEndpoints() {
	for n, v := range r.items("endpoints") {
		name := n.get("name")
		m := nodeRef{spot: spot{name.at, n.path}, view: v}
		r.endpoints = r.declare(r.endpoints, m, name.value.(pattern))
	}
	if total := len(r.nodes); total > int(wire.MaxLID) {
		r.add(r.root.get("endpoints").spot, "there are %d nodes: a subnet has addresses (LIDs) for %d", total, wire.MaxLID)
	}
}

// declare adds the nodes of an item to all of their kind.
func (r *resolver) declare(all []*nodeRef, item nodeRef, p pattern) []*nodeRef {
	for name := range p.all() {
		if first := r.nodes[name]; first != nil {
			r.add(item.spot, "duplicate name %q: %s has it already%s", name, first.kind(), inLine(first.at))
			continue
		}
		m := item
		m.name, m.index = name, len(all)
		r.nodes[name] = &m
		all = append(all, &m)
	}
	return all
}

// kind returns the kind of a node with its article.
func (m *nodeRef) kind() string {
	if m.isSwitch {
		return "a switch"
	}
	return "an endpoint"
}

func (r *resolver) declareLinks() {
	for n, v := range r.items("links") {
		between := n.get("between")
		j, named := between.value.(joint), v.node("name")
		ends := j.ends()
		switch {
		case named == nil:
			for _, e := range ends {
				r.linkNames[e[0]+" - "+e[1]] = n
			}
			continue
		case j.a.ranged || j.b.ranged:
			r.add(named.spot, "%s makes %d links, and they cannot all have the name %q: leave the name out, or give the links one by one",
				between.text, len(ends), named.text)
		case r.linkNames[named.text] != nil:
			r.add(named.spot, "duplicate name %q: a link has it already%s", named.text, inLine(r.linkNames[named.text].at))
		}
		r.linkNames[named.text] = n
	}
}

func (r *resolver) declareFlows() {
	for n := range r.items("flows") {
		name := n.get("name")
		if name == nil {
			continue
		}
		if link := r.linkNames[name.text]; link != nil {
			r.add(name.spot, "duplicate name %q: a link has it already%s, and metrics could not distinguish the two",
				name.text, inLine(link.at))
		}
	}
	if flows, work := r.root.get("flows"), r.root.get("workload"); (flows == nil || flows.kind == list && len(flows.items) == 0) &&
		(work == nil || work.kind == list && len(work.items) == 0) {
		at := r.root.field("flows")
		if flows != nil {
			at = flows.spot
		}
		r.add(at, "there are no flows and no workload: nothing would be sent")
	}
}

// checkOnce reports items of a list with the same value of a key. The message has the value and the
// place of the first item.
func (r *resolver) checkOnce(list *node, key, message string) {
	seen := map[string]place{}
	if list == nil {
		return
	}
	for _, n := range list.items {
		if p := n.get(key); p != nil {
			if first, twice := seen[p.text]; twice {
				r.add(p.spot, message, p.text, inLine(first))
			}
			seen[p.text] = p.at
		}
	}
}

// refer reports a value, a name or a range of names, unless there is an object of a kind for each
// name.
func (r *resolver) refer(n *node, kind string) {
	if n == nil {
		return
	}
	switch v := n.value.(type) {
	case pattern:
		r.known(n.spot, v, kind)
	case string:
		if v != everyLink {
			r.known(n.spot, pattern{text: v, prefix: v}, kind)
		}
	}
}

// known reports names for which there is no object of a kind: a node, a switch, an endpoint or a
// link.
func (r *resolver) known(at spot, p pattern, kind string) {
	missing, first := 0, ""
	for name := range p.all() {
		m := r.nodes[name]
		switch {
		case kind == "link" && r.linkNames[name] != nil, kind == "node" && m != nil,
			kind != "link" && m != nil && m.isSwitch == (kind == "switch"):
			continue
		case m != nil:
			r.add(at, "%s is %s: expected the name of %s", name, m.kind(), map[string]string{
				"endpoint": "an endpoint", "switch": "a switch", "link": "a link"}[kind])
			return
		case missing == 0:
			first = name
		}
		missing++
	}
	switch {
	case missing == 0:
	case missing == 1 && p.ranged:
		r.add(at, "there is no %s named %q, one of %s", kind, first, p.text)
	case missing == 1:
		r.add(at, "there is no %s named %q%s", kind, first, listNames(first, r.named(kind)))
	case missing == p.size():
		r.add(at, "there is no %s named %q, nor any other of %s%s", kind, first, p.text, listNames(first, r.named(kind)))
	default:
		r.add(at, "there is no %s named %q, nor %d more of %s", kind, first, missing-1, p.text)
	}
}

// named returns the names of all objects of a kind.
func (r *resolver) named(kind string) (names []string) {
	if kind == "link" {
		return slices.Sorted(maps.Keys(r.linkNames))
	}
	if kind != "endpoint" {
		names = namesOf(r.switches, func(m **nodeRef) string { return (*m).name })
	}
	if kind != "switch" {
		names = append(names, namesOf(r.endpoints, func(m **nodeRef) string { return (*m).name })...)
	}
	return names
}
