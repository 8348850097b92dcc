package resolve

import (
	"maps"
	"slices"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/pattern"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire"
)

// once reports items of lists that have the same name or number. Values may be wrong.
func once(r *source) {
	checkOnce(r.File, r.Root.Get("flows"), "name", "duplicate name %q: a flow has it already%s")
	checkOnce(r.File, r.Root.Get("faults"), "name", "duplicate name %q: a fault has it already%s")
	checkOnce(r.File, r.Root.Get("expect"), "id", "duplicate id %q: a check has it already%s")
	checkOnce(r.File, r.top().Sub("model").List("dscp"), "dscp", "the DSCP %s has a priority already%s")
	for _, v := range r.all("switches") {
		checkOnce(r.File, v.List("ets"), "priority", "priority %s has a weight already%s")
	}
}

// node is a switch or an endpoint of the file.
type node struct {
	place.Spot
	Name     string
	IsSwitch bool
	Index    int       // among the switches, or the endpoints
	View     yaml.View // its fields
	item     scenario.Item
}

// kind returns the kind of a node with its article.
func (m *node) kind() string {
	if m.IsSwitch {
		return "a switch"
	}
	return "an endpoint"
}

// names are the nodes and the links that a file declares.
type names struct {
	nodes               map[string]*node
	switches, endpoints []*node
	links               map[string]*yaml.Node // the item of each
	lost                bool                  // a name could not be read, or items are missing
	fewer               bool                  // flows or workloads are missing, right or not
}

// naming declares names.
type naming struct {
	*source
	names
}

// declare returns the switches, endpoints and links of the file, and reports names that are used
// twice or do not exist. Any value may be wrong: a name that could not be read is lost, and then no
// other is said not to exist.
func declare(src *source) *names {
	r := &naming{src, names{nodes: map[string]*node{}, links: map[string]*yaml.Node{}}}
	for _, section := range []string{"switches", "endpoints", "links"} {
		r.lost = r.lost || !r.whole(section)
	}
	r.fewer = !r.whole("flows") || !r.whole("workload")
	r.declareSwitches()
	r.declareEndpoints()
	r.declareLinks()
	r.declareFlows()
	for n := range r.all("links") {
		if j, ok := jointOf(r.source, n); ok {
			r.known(r.Inside(n.Get("between"), j.AAt), j.A, "node")
			r.known(r.Inside(n.Get("between"), j.BAt), j.B, "node")
		}
	}
	for _, ref := range []struct{ section, key, kind string }{
		{"routes", "at", "switch"}, {"routes", "to", "endpoint"}, {"routes", "over", "link"},
		{"sl2vl", "at", "node"}, {"sl2vl", "from", "link"}, {"sl2vl", "over", "link"},
		{"flows", "from", "endpoint"}, {"flows", "to", "endpoint"}, {"workload", "over", "endpoint"},
		{"events", "link", "link"}, {"events", "endpoint", "endpoint"}, {"events", "switch", "switch"},
		{"faults", "link", "link"}, {"faults", "endpoint", "endpoint"}, {"faults", "switch", "switch"},
		{"programs", "on", "endpoint"},
	} {
		for n := range r.all(ref.section) {
			r.refer(n.Get(ref.key), ref.kind)
		}
	}
	return &r.names
}

func (r *naming) declareSwitches() {
	if n := r.Root.Get("switches"); n != nil {
		for _, e := range n.Entries {
			p, err := pattern.Parse(e.Key)
			if err != nil {
				r.lost = true
				continue
			}
			v := r.itemView("switches", e.Value)
			m := node{Spot: e.At.Of(e.Value.Path), IsSwitch: true, View: v, item: r.itemOf("switches", e.Value, v)}
			r.switches = r.declare(r.switches, m, p)
		}
	}
}

func (r *naming) declareEndpoints() {
	for n, v := range r.all("endpoints") {
		name := n.Get("name")
		names, ok := namesIn(name)
		if !ok {
			r.lost = true
			continue
		}
		m := node{Spot: name.At.Of(n.Path), View: v, item: r.itemOf("endpoints", n, v)}
		r.endpoints = r.declare(r.endpoints, m, names)
	}
	if total := len(r.nodes); total > int(wire.MaxLID) {
		r.Add(r.Root.Get("endpoints").Spot, "there are %d nodes: a subnet has addresses (LIDs) for %d", total, wire.MaxLID)
	}
}

// declare adds the nodes of an item to all of their kind.
func (r *naming) declare(all []*node, item node, p pattern.Names) []*node {
	for name := range p.All() {
		if first := r.nodes[name]; first != nil {
			r.Add(item.Spot, "duplicate name %q: %s has it already%s", name, first.kind(), place.InLine(first.At))
			continue
		}
		m := item
		m.Name, m.Index = name, len(all)
		r.nodes[name] = &m
		all = append(all, &m)
	}
	return all
}

func (r *naming) declareLinks() {
	for n, v := range r.all("links") {
		between, named := n.Get("between"), v.Node("name")
		j, ok := jointOf(r.source, n)
		if !ok {
			r.lost = true
			continue
		}
		ends := j.Ends()
		switch {
		case named == nil:
			for _, e := range ends {
				r.links[e[0]+" - "+e[1]] = n
			}
			continue
		case j.A.Ranged || j.B.Ranged:
			r.Add(named.Spot, "%s makes %d links, and they cannot all have the name %q: leave the name out, or give the links one by one",
				between.Text, len(ends), named.Text)
		case r.links[named.Text] != nil:
			r.Add(named.Spot, "duplicate name %q: a link has it already%s", named.Text, place.InLine(r.links[named.Text].At))
		}
		r.links[named.Text] = n
	}
}

func (r *naming) declareFlows() {
	for n := range r.all("flows") {
		name := n.Get("name")
		if name == nil {
			continue
		}
		if link := r.links[name.Text]; link != nil {
			r.Add(name.Spot, "duplicate name %q: a link has it already%s, and metrics could not distinguish the two",
				name.Text, place.InLine(link.At))
		}
	}
	if flows, work := r.Root.Get("flows"), r.Root.Get("workload"); (flows == nil || flows.Kind == yaml.List && len(flows.Items) == 0) &&
		(work == nil || work.Kind == yaml.List && len(work.Items) == 0) && r.sound("flows workload") {
		at := r.Root.Field("flows")
		if flows != nil {
			at = flows.Spot
		}
		r.Add(at, "there are no flows and no workload: nothing would be sent")
	}
}

// namesIn returns the names that a value has been read as.
func namesIn(n *yaml.Node) (names pattern.Names, ok bool) {
	if n != nil {
		names, ok = n.Value.(pattern.Names)
	}
	return names, ok
}

// jointOf returns the ends of an item of links, unless they or its name could not be read.
func jointOf(r *source, n *yaml.Node) (ends pattern.Joint, ok bool) {
	if name := n.Get("name"); name == nil && r.Lacks(n.Path, "name") || name != nil && name.Value == nil {
		return ends, false
	}
	if between := n.Get("between"); between != nil {
		ends, ok = between.Value.(pattern.Joint)
	}
	return ends, ok
}

// checkOnce reports items of a list with the same value of a key. The message has the value and the
// place of the first item.
func checkOnce(r *yaml.File, list *yaml.Node, key, message string) {
	seen := map[string]place.Place{}
	if list == nil {
		return
	}
	for _, n := range list.Items {
		if p := n.Get(key); p != nil {
			if first, twice := seen[p.Text]; twice {
				r.Add(p.Spot, message, p.Text, place.InLine(first))
			}
			seen[p.Text] = p.At
		}
	}
}

// refer reports a value, a name or a range of names, unless there is an object of a kind for each
// name.
func (r *naming) refer(n *yaml.Node, kind string) {
	if n == nil {
		return
	}
	switch v := n.Value.(type) {
	case pattern.Names:
		r.known(n.Spot, v, kind)
	case string:
		if v != scenario.EveryLink {
			r.known(n.Spot, pattern.Names{Text: v, Prefix: v}, kind)
		}
	}
}

// known reports names for which there is no object of a kind: a node, a switch, an endpoint or a
// link.
func (r *naming) known(at place.Spot, p pattern.Names, kind string) {
	missing, first := 0, ""
	for name := range p.All() {
		m := r.nodes[name]
		switch {
		case kind == "link" && r.links[name] != nil, kind == "node" && m != nil,
			kind != "link" && m != nil && m.IsSwitch == (kind == "switch"):
			continue
		case m != nil:
			r.Add(at, "%s is %s: expected the name of %s", name, m.kind(), map[string]string{
				"endpoint": "an endpoint", "switch": "a switch", "link": "a link"}[kind])
			return
		case missing == 0:
			first = name
		}
		missing++
	}
	switch {
	case missing == 0:
	case r.lost: // it may be the name that could not be read
	case missing == 1 && p.Ranged:
		r.Add(at, "there is no %s named %q, one of %s", kind, first, p.Text)
	case missing == 1:
		r.Add(at, "there is no %s named %q%s", kind, first, pattern.Nearest(first, r.named(kind)))
	case missing == p.Size():
		r.Add(at, "there is no %s named %q, nor any other of %s%s", kind, first, p.Text, pattern.Nearest(first, r.named(kind)))
	default:
		r.Add(at, "there is no %s named %q, nor %d more of %s", kind, first, missing-1, p.Text)
	}
}

// named returns the names of all objects of a kind.
func (r *naming) named(kind string) (names []string) {
	if kind == "link" {
		return slices.Sorted(maps.Keys(r.links))
	}
	if kind != "endpoint" {
		for _, m := range r.switches {
			names = append(names, m.Name)
		}
	}
	if kind != "switch" {
		for _, m := range r.endpoints {
			names = append(names, m.Name)
		}
	}
	return names
}
