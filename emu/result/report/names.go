package report

import (
	"fabemu/emu/fabric"
	"fabemu/wire/trace"
)

// names gives the names for the numbers in events.
type names struct {
	fabric *fabric.Fabric
	ports  [][]string // of each node's ports: the direction of the link that leaves there
}

func namesOf(f *fabric.Fabric) *names {
	n := &names{fabric: f, ports: make([][]string, len(f.Nodes))}
	for i := range f.Nodes {
		for _, p := range f.Nodes[i].Ports {
			n.ports[i] = append(n.ports[i], f.LinkName(p.Out()))
		}
	}
	return n
}

func (n *names) node(e *trace.Event) string {
	if e.Node < 0 || int(e.Node) >= len(n.fabric.Nodes) {
		return ""
	}
	return n.fabric.Nodes[e.Node].Name
}

func (n *names) port(e *trace.Event) string {
	if e.Node < 0 || int(e.Node) >= len(n.ports) || int(e.Port) >= len(n.ports[e.Node]) {
		return ""
	}
	return n.ports[e.Node][e.Port]
}

func (n *names) flow(e *trace.Event) string {
	for i := range n.fabric.Flows { // queue pairs rise with the index, but are not promised to
		if e.Flow != 0 && n.fabric.Flows[i].QP == e.Flow {
			return n.fabric.Flows[i].Name
		}
	}
	return ""
}

// The keys of an occupancy: on InfiniBand buffers are counted in blocks of credit, on
// Ethernet in bytes.
var blocksKey, bytesKey = keyOf("occupancy_blocks"), keyOf("occupancy_bytes")
