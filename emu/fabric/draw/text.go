package draw

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
)

// DOT writes a scenario, laid out as f, for Graphviz: every node and link, and
// each group of flows as coloured edges that do not move the rest. Links that are equal outputs
// have their loads, if there are some.
func DOT(w io.Writer, s *scenario.Scenario, f *fabric.Fabric, l *Loads) error {
	p := newPicture(s, f, l)
	var b strings.Builder
	fmt.Fprintf(&b, "graph %q {\n", s.Name)
	fmt.Fprintf(&b, "  label=%q; labelloc=t; fontname=Helvetica; overlap=false;\n", strings.Join(slices.Concat([]string{s.Name, p.caption()}, p.loads.lines(), p.changes()), "\n"))
	b.WriteString("  node [fontname=Helvetica, fontsize=11]; edge [fontname=Helvetica, fontsize=10, color=\"#9aa5b1\"];\n")
	for i := range f.Nodes {
		m := &f.Nodes[i]
		if m.Switch == nil {
			fmt.Fprintf(&b, "  %q [shape=box, style=rounded];\n", m.Name)
			continue
		}
		fmt.Fprintf(&b, "  %q [shape=box, style=filled, fillcolor=\"#323f4b\", fontcolor=white, tooltip=%q];\n",
			m.Name, "marking: "+m.Switch.Marking.Scheme)
	}
	for i := range f.Wires {
		l := f.Wires[i].Link
		e := edge{links: []int{i}}
		words, over := p.loadOf(&e)
		label, look := p.common.label(l), "penwidth=2"
		if words != "" {
			label = strings.TrimPrefix(label+", "+words, ", ")
		}
		if !math.IsNaN(over) {
			look = fmt.Sprintf("penwidth=%.1f, color=%q", 2+3*min(over, 3), loadColour(over))
		}
		fmt.Fprintf(&b, "  %q -- %q [label=%q, tooltip=%q, %s];\n", l.A, l.B, label, propertiesOf(l).String(), look)
	}
	for i, g := range p.groups {
		for k, flow := range g.Flows {
			label := ""
			if k == 0 {
				label = g.Name
			}
			fl := &f.Flows[flow]
			fmt.Fprintf(&b,
				"  %q -- %q [dir=forward, constraint=false, style=dashed, color=%q, fontcolor=%q, label=%q, tooltip=%q];\n",
				fl.From, fl.To, colour(i), colour(i), label, fl.Name)
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Mermaid writes a scenario, laid out as f, as a Mermaid flowchart: nodes, of
// which many that are alike are one, links, and a dotted arrow for each group of
// flows from and to each of them. Links that are equal outputs have their loads, if there are some.
func Mermaid(w io.Writer, s *scenario.Scenario, f *fabric.Fabric, l *Loads) error {
	p := newPicture(s, f, l)
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %q\n---\nflowchart TB\n", s.Name)
	fmt.Fprintf(&b, "  %%%% %s\n", p.caption())
	for _, c := range slices.Concat(p.loads.lines(), p.changes()) {
		fmt.Fprintf(&b, "  %%%% %s\n", c)
	}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.rank > 0 {
			fmt.Fprintf(&b, "  n%d[\"%s\"]:::switch\n", i, n.label)
		} else {
			fmt.Fprintf(&b, "  n%d([\"%s\"])\n", i, n.label)
		}
	}
	for i := range p.edges {
		if e := &p.edges[i]; e.label == "" {
			fmt.Fprintf(&b, "  n%d --- n%d\n", e.a, e.b)
		} else {
			fmt.Fprintf(&b, "  n%d ---|\"%s\"| n%d\n", e.a, e.label, e.b)
		}
	}
	var styles strings.Builder
	for i := range p.edges {
		if over := p.edges[i].over; !math.IsNaN(over) {
			fmt.Fprintf(&styles, "  linkStyle %d stroke:%s,stroke-width:%.0fpx\n", i, loadColour(over), 2+3*min(over, 3))
		}
	}
	lines := len(p.edges)
	for i, g := range p.groups {
		drawn := map[[2]int]bool{}
		for _, k := range g.Flows {
			ends := [2]int{p.nodeOf[f.Flows[k].Src], p.nodeOf[f.Flows[k].Dst]}
			if drawn[ends] {
				continue
			}
			drawn[ends] = true
			fmt.Fprintf(&b, "  n%d -. %s .-> n%d\n", ends[0], g.Name, ends[1])
			fmt.Fprintf(&styles, "  linkStyle %d stroke:%s\n", lines, colour(i))
			lines++
		}
	}
	b.WriteString("  classDef switch fill:#323f4b,color:#ffffff,stroke:#323f4b\n")
	b.WriteString(styles.String())
	_, err := io.WriteString(w, b.String())
	return err
}
