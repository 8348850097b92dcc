package draw

import (
	"math"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
)

// Plan is a scenario laid out on a plane, in tenths of pixels from (0, 0) on, for a page that
// draws it by itself and shows the run on it.
type Plan struct {
	Size  [2]float64 `json:"size"` // width and height
	Nodes []Node     `json:"nodes"`
	Lanes []Lane     `json:"lanes"`

	common properties
}

// Label returns the label of a link whose properties have changed: its name, and its values that
// differ from those of most links of the plan.
func (p *Plan) Label(l *scenario.Link) string { return p.common.label(l) }

// Node is a node, or a pile of endpoints that are alike.
type Node struct {
	Label  string     `json:"label"`
	Note   string     `json:"note,omitempty"` // of a switch: how it marks
	Switch bool       `json:"switch,omitempty"`
	Box    [4]float64 `json:"box"` // left, top, width, height
	Nodes  []string   `json:"nodes"`
}

// Lane is one direction of a link, or of the links of a pile. A link that no flow crosses has
// one lane, which stands for no direction.
type Lane struct {
	From  int           `json:"from"` // nodes
	To    int           `json:"to"`
	Hops  []fabric.Hop  `json:"-"`               // that it stands for
	Lines []int         `json:"lines"`           // their numbers, in the order of the lanes
	Curve [4][2]float64 `json:"curve"`           // a cubic Bézier curve, as frames go
	Label string        `json:"label,omitempty"` // the special properties of the link; in its first lane
	At    [2]float64    `json:"at"`              // where the label is, its middle; of the first lane of a link
	Links []int         `json:"-"`               // in the first lane: the links, by their numbers in the fabric
}

// laneGap is how far the two lanes of a link are apart.
const laneGap = 12.0

// NewPlan lays a scenario out. A pile has lanes in the directions in which any of its
// links is crossed, now or after the routes have changed.
func NewPlan(s *scenario.Scenario, f *fabric.Fabric) *Plan {
	p := newPicture(s, f, nil)
	p.gap = laneGap
	crossed := map[fabric.Hop]bool{}
	for _, h := range f.DataLinks() {
		crossed[h] = true
	}
	hops := make([][2][]fabric.Hop, len(p.edges)) // forward, backward
	for i := range p.edges {
		e := &p.edges[i]
		e.strands = e.strands[:0]
		for _, w := range e.links {
			for from, end := range f.Wires[w].Ends {
				way := 0
				if p.nodeOf[end.Node] != e.a {
					way = 1
				}
				if h := (fabric.Hop{Wire: w, From: from}); crossed[h] {
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
	width, height := p.layout()
	out := &Plan{Size: [2]float64{width, height}, common: p.common}
	for i := range p.nodes {
		n := &p.nodes[i]
		node := Node{Label: n.label, Note: n.note, Switch: n.rank > 0,
			Box: [4]float64{tenths(n.x - n.w/2), tenths(n.y - n.h/2), tenths(n.w), tenths(n.h)}}
		for _, m := range n.nodes {
			node.Nodes = append(node.Nodes, f.Nodes[m].Name)
		}
		out.Nodes = append(out.Nodes, node)
	}
	lines, labels := 0, p.labelBoxes()
	for i := range p.edges {
		e := &p.edges[i]
		first := len(out.Lanes)
		if len(e.strands) == 0 {
			out.Lanes = append(out.Lanes, Lane{From: e.a, To: e.b, Lines: []int{}, Curve: p.curve(i, 0).tenths()})
		}
		for k, st := range e.strands {
			way := p.curve(i, p.aside(e, k)).tenths()
			lane := Lane{From: e.a, To: e.b, Hops: hops[i][0], Curve: way}
			if !st.forward {
				lane = Lane{From: e.b, To: e.a, Hops: hops[i][1], Curve: curve{way[3], way[2], way[1], way[0]}}
			}
			for range lane.Hops {
				lane.Lines = append(lane.Lines, lines)
				lines++
			}
			out.Lanes = append(out.Lanes, lane)
		}
		at, ok := labels[i]
		if !ok { // it has none until its rate changes
			at.x, at.y = p.labelAt(i, labelParts[0])
		}
		lane := &out.Lanes[first]
		lane.Label, lane.At, lane.Links = e.label, [2]float64{tenths(at.x), tenths(at.y + 4)}, e.links
	}
	return out
}

func tenths(v float64) float64 { return math.Round(v*10) / 10 }

func (c curve) tenths() curve {
	for k, at := range c {
		c[k] = [2]float64{tenths(at[0]), tenths(at[1])}
	}
	return c
}
