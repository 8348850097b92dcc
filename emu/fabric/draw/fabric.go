package draw

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fabemu/emu/base/terminal"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/node/traffic"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// picture is the drawing of a scenario: nodes, the links between them, and the
// groups of flows that run along these.
type picture struct {
	scenario *scenario.Scenario
	fabric   *fabric.Fabric
	common   properties // of most links
	nodes    []node
	edges    []edge
	groups   []fabric.Group
	ranks    int     // of switches; 1 when all of them have endpoints
	gap      float64 // between strands, in pixels
	nodeOf   []int   // of each node
	loads    *Loads  // nil: the drawing has none
}

// node is a switch, an endpoint, or a pile of endpoints that are alike.
type node struct {
	label string
	note  string // switch: how it marks
	nodes []int  // in the fabric
	rank  int    // 0: endpoint; else how many links a switch is away from one
	below bool   // endpoint: below its switch
	edges []int

	x, y, w, h float64 // centre and size
}

// edge is a link, or the links of a pile.
type edge struct {
	a, b    int   // nodes
	links   []int // wires; of a pile there are several
	label   string
	over    float64 // the load of an equal output, of which an even share is 1; not a number if it is none
	strands []strand

	ax, ay, bx, by float64 // where it meets its nodes
	beside         bool    // it joins two neighbours in a row of switches
}

// strand is a group of flows that crosses an edge in one direction.
type strand struct {
	group   int
	forward bool // from a to b
	arrives bool // at an endpoint
}

// properties are the properties that label a link, where it differs.
type properties struct {
	rate        unit.Rate
	propagation unit.Duration
	buffer      unit.Room // with credit
	flowControl port.FlowControl
}

func propertiesOf(l *scenario.Link) properties {
	return properties{l.Rate, l.Propagation, l.Buffer, l.FlowControl}
}

func (p properties) String() string {
	return fmt.Sprintf("%v, propagation %v, %s", p.rate, unit.Text(p.propagation), p.room())
}

// room names the protection of a receiver against overruns: its buffer, where credit is
// counted, or the flow control.
func (p properties) room() string {
	switch p.flowControl {
	case port.Credits:
		return "buffer " + p.buffer.String()
	case port.NoFlowControl:
		return "no flow control"
	default:
		return strings.ToUpper(p.flowControl.String())
	}
}

// named reports whether a link has its own name.
func named(l *scenario.Link) bool { return l.Name != l.A+" - "+l.B }

// newPicture finds the parts of the drawing.
func newPicture(s *scenario.Scenario, f *fabric.Fabric, l *Loads) *picture {
	p := &picture{scenario: s, fabric: f, groups: f.Groups(), gap: gap, loads: l}
	count := map[properties]int{}
	for i := range p.fabric.Wires {
		q := propertiesOf(p.fabric.Wires[i].Link)
		if count[q]++; count[q] > count[p.common] {
			p.common = q
		}
	}
	p.findNodes()
	p.findEdges()
	return p
}

func (p *picture) findNodes() {
	f := p.fabric
	p.nodeOf = make([]int, len(f.Nodes))
	rank := p.rank()
	for i := range f.Nodes {
		m := &f.Nodes[i]
		if m.Switch == nil {
			continue
		}
		note := m.Switch.Marking.Scheme
		if note == scenario.NoScheme {
			note = ""
		}
		if brief, ok := m.Switch.Marking.Params.(fmt.Stringer); ok {
			note += " " + brief.String()
		}
		p.nodeOf[i] = len(p.nodes)
		p.nodes = append(p.nodes, node{label: m.Name, note: note, nodes: []int{i}, rank: rank[i]})
		p.ranks = max(p.ranks, rank[i])
	}
	// An endpoint is next to the endpoints of its switch that are like it, if they are many.
	alike := map[string][]int{}
	likeness := p.likeness()
	for i, key := range likeness {
		alike[key] = append(alike[key], i)
	}
	receives := make([]bool, len(f.Nodes))
	for i := range f.Flows {
		receives[f.Flows[i].Dst] = true
	}
	for i, key := range likeness {
		if key == "" || alike[key][0] != i {
			continue
		}
		size := 1
		if len(alike[key]) > manyAlike {
			size = len(alike[key])
		}
		for pile := range slices.Chunk(alike[key], size) {
			var names []string
			for _, i := range pile {
				names = append(names, f.Nodes[i].Name)
				p.nodeOf[i] = len(p.nodes)
			}
			p.nodes = append(p.nodes,
				node{label: shorten(compress(names), 24), nodes: pile, below: p.ranks > 1 || receives[pile[0]]})
		}
	}
}

// manyAlike is how many endpoints that are alike are drawn one by one.
const manyAlike = 12

// likeness describes the common properties of the endpoints of a pile: their switch, their name but
// for its number, their link, and the groups of their flows. It is empty for switches.
func (p *picture) likeness() []string {
	f := p.fabric
	keys := make([]string, len(f.Nodes))
	for i := range f.Nodes {
		m := &f.Nodes[i]
		if m.Switch != nil {
			continue
		}
		w := &f.Wires[m.Ports[0].Wire]
		prefix, _, _ := number(m.Name)
		name := ""
		if named(w.Link) {
			name = w.Name
		}
		keys[i] = fmt.Sprintf("%d %s %s %v", w.Ends[1-m.Ports[0].End].Node, prefix, name, propertiesOf(w.Link))
	}
	for i, g := range p.groups {
		for _, k := range g.Flows {
			keys[f.Flows[k].Src] += fmt.Sprintf(" from %d", i)
			keys[f.Flows[k].Dst] += fmt.Sprintf(" to %d", i)
		}
	}
	return keys
}

// rank returns for each switch how many links it is away from an endpoint.
func (p *picture) rank() []int {
	f := p.fabric
	rank := make([]int, len(f.Nodes))
	var queue []int
	for i := range f.Nodes {
		if f.Nodes[i].Switch == nil {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, port := range f.Nodes[at].Ports {
			peer := f.Wires[port.Wire].Ends[1-port.End].Node
			if f.Nodes[peer].Switch != nil && rank[peer] == 0 {
				rank[peer] = rank[at] + 1
				queue = append(queue, peer)
			}
		}
	}
	return rank
}

// findEdges makes the edges, and the strands along them.
func (p *picture) findEdges() {
	f, nodeOf := p.fabric, p.nodeOf
	edgeOf := make([]int, len(f.Wires))
	pile := map[int]int{} // of a pile, its edge
	for i := range f.Wires {
		w := &f.Wires[i]
		e := edge{a: nodeOf[w.Ends[0].Node], b: nodeOf[w.Ends[1].Node], links: []int{i}, label: p.common.label(w.Link)}
		edgeOf[i] = len(p.edges)
		for _, n := range []int{e.a, e.b} {
			if len(p.nodes[n].nodes) < 2 {
				continue
			}
			if first, drawn := pile[n]; drawn {
				edgeOf[i] = first
				p.edges[first].links = append(p.edges[first].links, i)
			} else {
				pile[n] = len(p.edges)
			}
		}
		if edgeOf[i] == len(p.edges) {
			p.nodes[e.a].edges = append(p.nodes[e.a].edges, len(p.edges))
			p.nodes[e.b].edges = append(p.nodes[e.b].edges, len(p.edges))
			p.edges = append(p.edges, e)
		}
	}
	for i := range p.edges {
		e := &p.edges[i]
		words, over := p.loadOf(e)
		if e.over = over; words != "" && e.label != "" {
			words = ", " + words
		}
		e.label += words
	}
	for g := range p.groups {
		for _, k := range p.groups[g].Flows {
			for _, h := range slices.Concat(f.Levels(&f.Flows[k])...) {
				e := &p.edges[edgeOf[h.Wire]]
				ends := f.Wires[h.Wire].Ends
				st := strand{group: g, forward: nodeOf[ends[h.From].Node] == e.a,
					arrives: ends[1-h.From].Node == f.Flows[k].Dst}
				if !slices.Contains(e.strands, st) {
					e.strands = append(e.strands, st)
				}
			}
		}
	}
}

// label names the special properties of a link: its name, and its values that differ from those of
// most links.
func (common properties) label(l *scenario.Link) string {
	var parts []string
	if named(l) {
		parts = append(parts, l.Name)
	}
	if l.Rate != common.rate {
		parts = append(parts, l.Rate.String())
	}
	if l.Propagation != common.propagation {
		parts = append(parts, unit.Text(l.Propagation))
	}
	switch q := propertiesOf(l); {
	case q.flowControl != common.flowControl:
		parts = append(parts, q.room())
	case q.buffer != common.buffer:
		parts = append(parts, q.buffer.String())
	}
	return strings.Join(parts, ", ")
}

// mostChanges is how many changes of the fabric are listed.
const mostChanges = 8

// changes lists the changes of the fabric in the run.
func (p *picture) changes() (lines []string) {
	all := p.scenario.Changes()
	for _, c := range all[:min(len(all), mostChanges)] {
		lines = append(lines, fmt.Sprintf("%s: %s", unit.Text(c.At), c.What))
	}
	if more := len(all) - mostChanges; more > 0 {
		lines = append(lines, "and "+terminal.Count(int64(more), "more change"))
	}
	return lines
}

// describe describes a group of flows in a line.
func (p *picture) describe(g *fabric.Group) string {
	f := p.fabric
	var from, to []string
	first := &f.Flows[g.Flows[0]]
	begin := first.Flow.Start
	for _, k := range g.Flows {
		fl := &f.Flows[k]
		from, to = append(from, fl.From), append(to, fl.To)
		begin = min(begin, fl.Flow.Start)
	}
	text := fmt.Sprintf("%s to %s, %s", shorten(compress(from), 30), shorten(compress(to), 30), first.Control.Algorithm)
	if first.Rate > 0 {
		text += fmt.Sprintf(", %v", first.Rate)
	}
	if first.Traffic != traffic.Greedy && first.Traffic != traffic.Paced && first.Traffic != traffic.Constant {
		text += " of " + first.Traffic.String()
	}
	if first.Priority > 0 {
		text += fmt.Sprintf(", priority %d", first.Priority)
	}
	text += fmt.Sprintf(", from %s", unit.Text(begin))
	if first.Flow.Stop != 0 {
		text += fmt.Sprintf(" to %s", unit.Text(first.Flow.Stop))
	}
	if len(g.Flows) > 1 {
		text = fmt.Sprintf("%d flows, %s", len(g.Flows), text)
	}
	return text
}

// compress writes names with ranges: B1, B2, B3, C as "B[1-3], C". Each is named
// once, in the order of their first coming.
func compress(names []string) string {
	type span struct {
		name      string // before the number, or all of it
		low, last int
		plain     bool // it has a number
	}
	var spans []span
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		before, n, plain := number(name)
		if k := len(spans) - 1; k >= 0 && plain && spans[k].plain && spans[k].name == before && spans[k].last+1 == n {
			spans[k].last = n
			continue
		}
		spans = append(spans, span{before, n, n, plain})
	}
	parts := make([]string, len(spans))
	for i, s := range spans {
		switch parts[i] = s.name; {
		case s.low < s.last:
			parts[i] += fmt.Sprintf("[%d-%d]", s.low, s.last)
		case s.plain:
			parts[i] += fmt.Sprint(s.low)
		}
	}
	return strings.Join(parts, ", ")
}

// number cuts a name into the part before its last digits and their number; ok
// is false for a name that does not end in a number, or in one with leading
// zeros.
func number(name string) (prefix string, n int, ok bool) {
	prefix = strings.TrimRight(name, "0123456789")
	digits := name[len(prefix):]
	if digits == "" || len(digits) > 9 || digits[0] == '0' && len(digits) > 1 {
		return name, 0, false
	}
	n, _ = strconv.Atoi(digits) // nine at most
	return prefix, n, true
}

// shorten cuts a text that is too long.
func shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return text
}
