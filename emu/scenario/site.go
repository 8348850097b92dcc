package scenario

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
	Found     Problems    // what computing has found to be wrong
	Doubts    Problems    // what it has found to be probably not intended

	Top             Item // the whole file: its sections that are no lists
	Tables          Tables
	Nodes           map[string]*NodeRef
	SwitchNodes     []*NodeRef    // for each switch
	EndpointNodes   []*NodeRef    // for each endpoint
	LinkOrigins     []Origin      // for each link
	FlowOrigins     []Origin      // for each flow
	WorkloadOrigins []Origin      // for each workload
	crossed         [][2]crossing // for each link, from its A and from its B
}

// Head returns a section of the scenario that is no list, such as wall.
func (s *Site) Head(key string) Item { return s.Top.In(key) }

// Link returns the item of a link.
func (s *Site) Link(i int) Item { return s.LinkOrigins[i].Item }

// Flow returns the item of a flow; of one that stands for a workload that of the workload.
func (s *Site) Flow(i int) Item { return s.FlowOrigins[i].Item }

// Workload returns the item of a workload.
func (s *Site) Workload(i int) Item { return s.WorkloadOrigins[i].Item }

// Switch returns the item of a switch.
func (s *Site) Switch(i int) Item { return s.SwitchNodes[i].Item }

// Endpoint returns the item of an endpoint.
func (s *Site) Endpoint(i int) Item { return s.EndpointNodes[i].Item }

// Choices returns what an object such as a marking can choose: the key of the choice, and in their
// order the further keys, each with the choices that have it.
func (s *Site) Choices(of Item) (by string, keys []string, having map[string][]string) {
	t := s.Tables.chosen[of.of]
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

// NodeRef is a switch or an endpoint of the file.
type NodeRef struct {
	Item
	Name     string
	IsSwitch bool
	Index    int   // in s.Switches or s.Endpoints
	Links    []int // links that end here
}

// Origin is where a link, a flow or a workload is from.
type Origin struct {
	Item
	Index int // in s.Links or s.Flows; of a workload the first flow that stands for it
}
