package graph

import (
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
)

// Plan is a scenario laid out on a plane, in pixels from (0, 0) on, for a page that draws
// it by itself and shows on it what goes on.
type Plan struct {
	Width, Height float64
	Nodes         []Node
	Lanes         []Lane
}

// Node is a machine, or a pile of endpoints that are alike.
type Node struct {
	Label      string
	Note       string // of a switch: how it marks
	Switch     bool
	Machines   []int   // of the fabric
	X, Y, W, H float64 // centre and size
}

// Lane is one direction of a link, or of those of a pile. A link that no flow crosses has
// one lane, which is idle.
type Lane struct {
	From, To int           // nodes
	Hops     []fabric.Hop  // that it stands for
	Idle     bool          // no flow crosses it
	Way      [4][2]float64 // a cubic Bézier curve, as frames go
	Label    string        // what is special about the link; of its first lane
	X, Y     float64       // where the label stands, its middle
}

// laneGap is how far the two lanes of a link are apart.
const laneGap = 12.0

// NewPlan lays a scenario out. A pile has lanes in the directions in which any of its
// links is crossed, now or after the routes have changed.
func NewPlan(s *scenario.Scenario, f *fabric.Fabric) *Plan {
	p := newPicture(s, f)
	p.gap = laneGap
	crossed := map[fabric.Hop]bool{}
	for i := range f.Flows {
		for _, hops := range append([][]fabric.Hop{f.Flows[i].Hops}, f.Flows[i].Later...) {
			for _, h := range hops {
				crossed[h] = true
			}
		}
	}
	hops := make([][2][]fabric.Hop, len(p.edges)) // forward, backward
	for i := range p.edges {
		e := &p.edges[i]
		e.strands = e.strands[:0]
		for _, w := range e.links {
			for from := range 2 {
				h := fabric.Hop{Wire: w, From: from}
				way := 0
				if p.nodeOf[f.Wires[w].Ends[from].Machine] != e.a {
					way = 1
				}
				if crossed[h] {
					hops[i][way] = append(hops[i][way], h)
				}
			}
		}
		for way, h := range hops[i] {
			if len(h) > 0 {
				e.strands = append(e.strands, strand{forward: way == 0})
			}
		}
	}
	out := &Plan{}
	out.Width, out.Height = p.layout()
	for i := range p.nodes {
		n := &p.nodes[i]
		out.Nodes = append(out.Nodes,
			Node{Label: n.label, Note: n.note, Switch: n.rank > 0, Machines: n.machines, X: n.x, Y: n.y,
				W: n.w, H: n.h})
	}
	for i := range p.edges {
		e := &p.edges[i]
		x, y := p.labelAt(i)
		lanes := []Lane{{From: e.a, To: e.b, Idle: true, Way: p.way(i, 0)}}
		if len(e.strands) > 0 {
			lanes = lanes[:0]
		}
		for k, st := range e.strands {
			way := p.way(i, p.gap*(float64(k)-float64(len(e.strands)-1)/2))
			if st.forward {
				lanes = append(lanes, Lane{From: e.a, To: e.b, Hops: hops[i][0], Way: way})
			} else {
				lanes = append(lanes,
					Lane{From: e.b, To: e.a, Hops: hops[i][1], Way: curve{way[3], way[2], way[1], way[0]}})
			}
		}
		lanes[0].Label, lanes[0].X, lanes[0].Y = e.label, x, y
		out.Lanes = append(out.Lanes, lanes...)
	}
	return out
}
