package scenario

import (
	"slices"

	"fabemu/emu/scenario/paths"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Warning reports a value of a scenario that is right but probably not intended. It has the
// fields of Error.
type Warning Error

// String prints the warning without its excerpt, on one line.
func (w Warning) String() string { return Error(w).Error() }

// Problem is something that a rule about several values has found. Load finds its place.
type Problem struct {
	Path string // of the value in the file, such as "links[3].buffer" or "defaults.link.buffer" (Item.Mention)
	Text string

	// Manageable is true if a subnet manager may take the problem away during the run.
	Manageable bool
}

// Site is a scenario that Load found right, with the fabric that follows from it, and with where
// its values are given. Nodes are numbered as in Paths.
type Site struct {
	*Scenario     // behind its flows there are those that stand for workloads
	Own       int // how many flows are the scenario's
	Paths     *PathTable
	Shortened bool        // a --set of model.duration leaves flows out
	Derived   []Threshold // watermarks that were computed
	File      *yaml.File  // where the values are given

	tables    tables
	nodes     map[string]*nodeRef
	switches  []*nodeRef    // for each switch
	endpoints []*nodeRef    // for each endpoint
	links     []origin      // for each link
	flows     []origin      // for each flow
	workloads []origin      // for each workload
	crossed   [][2]crossing // for each link, from its A and from its B
}

// Mention is where a file or a --set gives a value of a scenario. A value under defaults, or of an
// item that stands for several objects, has one mention for all of them.
type Mention struct {
	Path  string // in the file, such as "links[3].buffer"; empty: the value is not given
	BySet bool   // a --set gives it
	Usual bool   // it is the built-in default, written out
}

// Given reports whether the file or a --set has the value.
func (m Mention) Given() bool { return m.Path != "" }

// Item is an object of a scenario as its file gives it, with the defaults of its kind. Two items
// are equal if they are the same part of the file.
type Item struct {
	view yaml.View
	at   *yaml.Node
}

// Path returns the path of the item in the file.
func (i Item) Path() string { return i.at.Path }

// Fields returns the fields that the item can have.
func (i Item) Fields() *param.Struct { return i.view.Of }

// Mention returns the mention of a field.
func (i Item) Mention(key string) Mention {
	n := i.view.Node(key)
	if n == nil {
		return Mention{}
	}
	usual := i.view.Of.Find(key).Usual()
	return Mention{n.Path, n.At.Set != nil, usual != nil && usual == n.Value}
}

// In returns an object in the item, such as the control of a flow.
func (i Item) In(key string) Item { return Item{i.view.Sub(key), i.at} }

// Link returns the item of a link.
func (s *Site) Link(i int) Item { return Item{s.links[i].view, s.links[i].Node} }

// Flow returns the item of a flow; of one that stands for a workload that of the workload.
func (s *Site) Flow(i int) Item { return Item{s.flows[i].view, s.flows[i].Node} }

// Workload returns the item of a workload.
func (s *Site) Workload(i int) Item { return Item{s.workloads[i].view, s.workloads[i].Node} }

// Switch returns the item of a switch.
func (s *Site) Switch(i int) Item { return s.node(s.switches[i]) }

// Endpoint returns the item of an endpoint.
func (s *Site) Endpoint(i int) Item { return s.node(s.endpoints[i]) }

func (s *Site) node(m *nodeRef) Item { return Item{m.view, m.view.Chain[0]} }

// Choices returns what an object such as a marking can choose: the key of the choice, and in their
// order the further keys, each with the choices that have it.
func (s *Site) Choices(of Item) (by string, keys []string, having map[string][]string) {
	t := s.tables.chosen[of.view.Of]
	return t.by, t.keys, t.having
}

// Key returns the key by which the paths of a flow are chosen.
func (s *Site) Key(flow int) Key {
	f := &s.Flows[flow]
	return Key{Src: s.Paths.Index[f.From], Dst: s.Paths.Index[f.To], QP: uint32(flow + FirstQP)}
}

// nodeName returns the name of a node of Paths.
func (s *Site) nodeName(node int) string {
	if n := node - len(s.Switches); n >= 0 {
		return s.Endpoints[n].Name
	}
	return s.Switches[node].Name
}

// LinksOf returns the links of a node.
func (s *Site) LinksOf(node string) []int { return s.nodes[node].links }

// LargestFrom returns the same of those that may cross a link from its A (0) or its B (1).
func (s *Site) LargestFrom(link, side int) *Flow { return s.largestOf(&s.crossed[link][side]) }

// Longest returns the length of the longest frame that may cross a link from its A (0) or its B
// (1); 0: there is none.
func (s *Site) Longest(link, side int) unit.Size { return s.crossed[link][side].longest }

// Passes visits the switches that frames of a flow may reach.
func (s *Site) Passes(flow int, visit func(*Switch)) {
	s.passes(s.Key(flow), func(w *Switch, _ paths.Step) { visit(w) })
}

// IsGuest reports whether an endpoint is a guest.
func (s *Site) IsGuest(endpoint string) bool { return s.guestKind(endpoint) != "" }

// SwitchOf returns the index of a switch, and whether there is one of that name.
func (s *Site) SwitchOf(name string) (index int, ok bool) {
	m := s.nodes[name]
	if m == nil || !m.isSwitch {
		return 0, false
	}
	return m.index, true
}

// UnderManager returns the warnings about s that also hold with a subnet manager, which may turn
// congestion control on during the run.
func (s *Scenario) UnderManager() []Warning {
	return slices.DeleteFunc(slices.Clone(s.Warnings), func(w Warning) bool { return s.loaded != nil && slices.Contains(s.loaded.Manageable, w) })
}

// nodeRef is a switch or an endpoint of the file.
type nodeRef struct {
	yaml.Spot
	name     string
	isSwitch bool
	index    int          // in s.Switches or s.Endpoints
	links    []int        // links that end here
	linkAt   []yaml.Place // of each of them
	view     yaml.View    // its fields
}

// kind returns the kind of a node with its article.
func (m *nodeRef) kind() string {
	if m.isSwitch {
		return "a switch"
	}
	return "an endpoint"
}

// origin has the source of the values of a link or a flow.
type origin struct {
	*yaml.Node // the item of the list
	view       yaml.View
	index      int // in s.Links or s.Flows; of a workload the first flow that stands for it
}
