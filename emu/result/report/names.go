package report

import (
	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/wire/trace"
)

// names gives the names for the numbers in events. A binary event log begins with them.
type names struct {
	Nodes []nodeNames       `json:"nodes"`
	Old   []nodeNames       `json:"machines,omitempty"` // Nodes, in logs of version 0.1.0
	Flows map[uint32]string `json:"flows"`              // by queue pair
}

type nodeNames struct {
	Name  string      `json:"name"`
	Ports []portNames `json:"ports"`
}

type portNames struct {
	Link  string `json:"link"`            // the direction of the link that leaves there
	Bytes bool   `json:"bytes,omitempty"` // its buffer is counted in bytes, not in blocks
}

func namesOf(f *fabric.Fabric) *names {
	n := &names{Nodes: make([]nodeNames, len(f.Nodes)), Flows: make(map[uint32]string, len(f.Flows))}
	for i := range f.Nodes {
		n.Nodes[i].Name = f.Nodes[i].Name
		for _, p := range f.Nodes[i].Ports {
			n.Nodes[i].Ports = append(n.Nodes[i].Ports, portNames{f.LinkName(p.Out()), metrics.InBytes(f, p.Wire)})
		}
	}
	for i := range f.Flows {
		n.Flows[f.Flows[i].QP] = f.Flows[i].Name
	}
	return n
}

func (n *names) node(e *trace.Event) string {
	if uint32(e.Node) >= uint32(len(n.Nodes)) {
		return ""
	}
	return n.Nodes[e.Node].Name
}

func (n *names) port(e *trace.Event) string {
	if uint32(e.Node) >= uint32(len(n.Nodes)) || int(e.Port) >= len(n.Nodes[e.Node].Ports) {
		return ""
	}
	return n.Nodes[e.Node].Ports[e.Port].Link
}

func (n *names) flow(e *trace.Event) string { return n.Flows[e.Flow] }

// Grouped returns items with equal keys together, in the order of their first ones.
func Grouped[T any](items []T, key func(*T) string) (groups [][]T) {
	at := make(map[string]int)
	for i := range items {
		k := key(&items[i])
		n, there := at[k]
		if !there {
			n = len(groups)
			at[k], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], items[i])
	}
	return groups
}
