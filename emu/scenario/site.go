package scenario

import (
	"slices"

	"fabemu/emu/scenario/paths"
	"fabemu/emu/scenario/place"
	"fabemu/emu/scenario/yaml"
	"fabemu/wire/param"
	"fabemu/wire/unit"
)

// Warning reports a value of a scenario that is right but probably not intended. It has the
// fields of Error.
type Warning Error

// String prints the warning without its excerpt, on one line.
func (w Warning) String() string { return Error(w).Error() }

// Site is a scenario that Load found right, with the fabric that follows from it, and with where
// its values are given. Nodes are numbered as in Paths.
type Site struct {
	*Scenario     // behind its flows there are those that stand for workloads
	Own       int // how many flows are the scenario's
	Paths     *PathTable
	Shortened bool        // a --set of model.duration leaves flows out
	Derived   []Threshold // watermarks that were computed
	File      *yaml.File  // where the values are given
	Found     Problems    // what computing has found to be wrong
	Doubts    Problems    // what it has found to be probably not intended

	Tables          Tables
	Nodes           map[string]*NodeRef
	SwitchNodes     []*NodeRef    // for each switch
	EndpointNodes   []*NodeRef    // for each endpoint
	LinkOrigins     []Origin      // for each link
	FlowOrigins     []Origin      // for each flow
	WorkloadOrigins []Origin      // for each workload
	crossed         [][2]crossing // for each link, from its A and from its B
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

// Where returns the path of the first of some fields that is given, or else of the item.
func (i Item) Where(keys ...string) string {
	for _, key := range keys {
		if from := i.Mention(key); from.Given() {
			return from.Path
		}
	}
	return i.Path()
}

// In returns an object in the item, such as the control of a flow.
func (i Item) In(key string) Item { return Item{i.view.Sub(key), i.at} }

// Head returns a section of the scenario that is no list, such as wall.
func (s *Site) Head(key string) Item {
	v := yaml.View{Of: s.Tables.Language().Object, Chain: [2]*yaml.Node{s.File.Root}}
	return Item{v.Sub(key), s.File.Root}
}

// Link returns the item of a link.
func (s *Site) Link(i int) Item { return Item{s.LinkOrigins[i].View, s.LinkOrigins[i].Node} }

// Flow returns the item of a flow; of one that stands for a workload that of the workload.
func (s *Site) Flow(i int) Item { return Item{s.FlowOrigins[i].View, s.FlowOrigins[i].Node} }

// Workload returns the item of a workload.
func (s *Site) Workload(i int) Item {
	return Item{s.WorkloadOrigins[i].View, s.WorkloadOrigins[i].Node}
}

// Switch returns the item of a switch.
func (s *Site) Switch(i int) Item { return s.node(s.SwitchNodes[i]) }

// Endpoint returns the item of an endpoint.
func (s *Site) Endpoint(i int) Item { return s.node(s.EndpointNodes[i]) }

func (s *Site) node(m *NodeRef) Item { return Item{m.View, m.View.Chain[0]} }

// Choices returns what an object such as a marking can choose: the key of the choice, and in their
// order the further keys, each with the choices that have it.
func (s *Site) Choices(of Item) (by string, keys []string, having map[string][]string) {
	t := s.Tables.chosen[of.view.Of]
	return t.By, t.keys, t.having
}

// Key returns the key by which the paths of a flow are chosen.
func (s *Site) Key(flow int) Key {
	f := &s.Flows[flow]
	return Key{Src: s.Paths.Index[f.From], Dst: s.Paths.Index[f.To], QP: uint32(flow + FirstQP)}
}

// NodeName returns the name of a node of Paths.
func (s *Site) NodeName(node int) string {
	if n := node - len(s.Switches); n >= 0 {
		return s.Endpoints[n].Name
	}
	return s.Switches[node].Name
}

// LinksOf returns the links of a node.
func (s *Site) LinksOf(node string) []int { return s.Nodes[node].Links }

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
func (s *Site) IsGuest(endpoint string) bool { return s.GuestKindOf(endpoint) != "" }

// SwitchOf returns the index of a switch, and whether there is one of that name.
func (s *Site) SwitchOf(name string) (index int, ok bool) {
	m := s.Nodes[name]
	if m == nil || !m.IsSwitch {
		return 0, false
	}
	return m.Index, true
}

// UnderManager returns the warnings about s that also hold with a subnet manager, which may turn
// congestion control on during the run.
func (s *Scenario) UnderManager() []Warning {
	return slices.DeleteFunc(slices.Clone(s.Warnings), func(w Warning) bool { return s.loaded != nil && slices.Contains(s.loaded.Manageable, w) })
}

// NodeRef is a switch or an endpoint of the file.
type NodeRef struct {
	place.Spot
	Name     string
	IsSwitch bool
	Index    int           // in s.Switches or s.Endpoints
	Links    []int         // links that end here
	LinkAt   []place.Place // of each of them
	View     yaml.View     // its fields
}

// Kind returns the kind of a node with its article.
func (m *NodeRef) Kind() string {
	if m.IsSwitch {
		return "a switch"
	}
	return "an endpoint"
}

// Origin has the source of the values of a link or a flow.
type Origin struct {
	*yaml.Node // the item of the list
	View       yaml.View
	Index      int // in s.Links or s.Flows; of a workload the first flow that stands for it
}
