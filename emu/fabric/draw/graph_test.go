package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"fabemu/emu/emutest/golden"
	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

// open reads a scenario and lays it out.
func open(t testing.TB, src []byte) (*scenario.Scenario, *fabric.Fabric) {
	t.Helper()
	s, err := resolve.Load("test.yaml", src, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// odd has what the others have not: a ring, links side by side, a pile of
// endpoints, unlike links, a switch without endpoints, and texts that XML and DOT
// want quoted.
const odd = `name: odd
description: "A <ring> & \"more\""
model: {duration: 10ms}
defaults: {link: {rate: 1GB/s}, switch: {marking: {scheme: naive}}}
switches: {W: {}, X: {}, Y: {}, Z: {marking: {scheme: none}}, Top: {marking: {scheme: input-output, threshold: 6}}}
endpoints: ["a[1-40]", "b[1-3]", c, d, "e[1-2]"]
links:
  - "a[1-40] - W"
  - "b[1-3] - X"
  - c - Y
  - {between: d - Z, rate: 2GB/s, buffer: 8 packets}
  - "e[1-2] - Z"
  - {name: one, between: W - X}
  - {name: two, between: W - X, rate: 500MB/s}
  - X - Y
  - Y - Z
  - {name: back, between: Z - W, propagation: 2us}
  - Top - Y
flows:
  - {name: many, from: "a[1-40]", to: d}
  - {name: few, from: "b[1-3]", to: c, start: 1us, stop: 5ms, traffic: constant, rate: 1MB/s}
events: [{at: 1ms, link: two, rate: 1GB/s}]
`

// sources returns scenarios of all kinds, by name.
func sources(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{"odd": []byte(odd)}
	for _, e := range builtin.List() {
		src, err := builtin.Read(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = src
	}
	for _, k := range generate.Kinds() {
		for _, n := range []int{0, k.Least, 40, 500} {
			src, err := generate.Write(k.Name, generate.Options{Endpoints: n - n%k.Step})
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%s-%d", k.Name, n)] = src
		}
	}
	return all
}

// TestLayout: every node is in one place, within the picture, and no two
// overlap; each link begins and ends at the edge of its nodes, and stays within the
// picture.
func TestLayout(t *testing.T) {
	for name, src := range sources(t) {
		s, f := open(t, src)
		p := newPicture(s, f, FlowLoads(f))
		width, height := p.layout()
		seen := make([]int, len(f.Nodes))
		byRow := map[float64][]*node{}
		for i := range p.nodes {
			n := &p.nodes[i]
			for _, m := range n.nodes {
				seen[m]++
			}
			if n.x-n.w/2 < -0.01 || n.x+n.w/2 > width+0.01 || n.y-n.h/2 < 0 || n.y+n.h/2 > height {
				t.Errorf("%s: %s is outside of the picture: %+v in %.0f x %.0f", name, n.label, n, width, height)
			}
			byRow[n.y] = append(byRow[n.y], n)
		}
		for i, n := range seen {
			if n != 1 {
				t.Errorf("%s: %s is drawn %d times", name, f.Nodes[i].Name, n)
			}
		}
		for _, row := range byRow {
			for i, a := range row {
				for _, b := range row[:i] {
					if math.Abs(a.x-b.x) < (a.w+b.w)/2 {
						t.Errorf("%s: %s and %s overlap", name, a.label, b.label)
					}
				}
			}
		}
		wires := 0
		for i := range p.edges {
			e := &p.edges[i]
			wires += len(e.links)
			if _, y, _ := p.curve(i, 0).at(0.5); y-p.thickness(i)/2 < 0 || y > height {
				t.Errorf("%s: a link between %s and %s passes %.0f, outside of the picture", name, p.nodes[e.a].label, p.nodes[e.b].label, y)
			}
			for _, end := range []struct {
				n    *node
				x, y float64
			}{{&p.nodes[e.a], e.ax, e.ay}, {&p.nodes[e.b], e.bx, e.by}} {
				dx, dy := math.Abs(end.x-end.n.x), math.Abs(end.y-end.n.y)
				if dx > end.n.w/2+0.01 || dy > end.n.h/2+0.01 || dx < end.n.w/2-0.01 && dy < end.n.h/2-0.01 {
					t.Errorf("%s: a link of %s ends at (%.0f, %.0f): %+v", name, end.n.label, end.x, end.y, end.n)
				}
			}
		}
		if wires != len(f.Wires) {
			t.Errorf("%s: %d of %d links are drawn", name, wires, len(f.Wires))
		}
	}
}

// Labels of links do not touch one another and from nodes, also where many links cross.
func TestLabelsStandApart(t *testing.T) {
	all := sources(t)
	all["crossing"] = []byte(`name: crossing
model: {duration: 1ms}
defaults: {link: {rate: 1GB/s}}
switches: {L1: {}, L2: {}, L3: {}, L4: {}, S1: {}, S2: {}}
endpoints: ["h[1-4]"]
links:
  - {name: one-to-one, between: L1 - S1, rate: 2GB/s}
  - {name: two-to-one, between: L2 - S1, rate: 3GB/s}
  - {name: three-to-one, between: L3 - S1, rate: 2GB/s}
  - {name: four-to-one, between: L4 - S1, rate: 5GB/s}
  - {name: one-to-two, between: L1 - S2, rate: 2GB/s}
  - {name: two-to-two, between: L2 - S2, rate: 3GB/s}
  - {name: three-to-two, between: L3 - S2, rate: 4GB/s}
  - {name: four-to-two, between: L4 - S2, rate: 5GB/s}
  - h1 - L1
  - h2 - L2
  - h3 - L3
  - h4 - L4
flows: [{name: f, from: "h[1-2]", to: "h[3-4]"}]
`)
	for name, src := range all {
		s, f := open(t, src)
		p := newPicture(s, f, FlowLoads(f))
		p.layout()
		boxes := p.labelBoxes()
		if name == "crossing" && len(boxes) != 8 {
			t.Errorf("%d labels", len(boxes))
		}
		for i, a := range boxes {
			for k, b := range boxes {
				if i < k && a.over(b) > 0 {
					t.Errorf("%s: %s and %s overlap", name, p.edges[i].label, p.edges[k].label)
				}
			}
			for k := range p.nodes {
				n := &p.nodes[k]
				if a.over(box{n.x, n.y, n.w, n.h}) > 0 {
					t.Errorf("%s: %s and %s overlap", name, p.edges[i].label, n.label)
				}
			}
		}
	}
}

// TestSVG: the picture is XML, the same each time, and names every switch, every
// group and every link that has a name.
func TestSVG(t *testing.T) {
	for name, src := range sources(t) {
		s, f := open(t, src)
		var first, second bytes.Buffer
		if err := errors.Join(SVG(&first, s, f, FlowLoads(f)), SVG(&second, s, f, FlowLoads(f))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: drawn twice it differs", name)
		}
		texts := map[string]bool{}
		d := xml.NewDecoder(&first)
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text, ok := token.(xml.CharData); ok {
				texts[string(text)] = true
			}
		}
		for _, sw := range s.Switches {
			if !texts[sw.Name] {
				t.Errorf("%s: switch %s has no name", name, sw.Name)
			}
		}
		for _, fl := range s.Flows {
			if !texts[fl.Group] {
				t.Errorf("%s: the legend does not explain %s", name, fl.Group)
			}
		}
		if !texts[s.Name] || !texts[s.Description] {
			t.Errorf("%s: neither title nor description", name)
		}
	}
}

// TestGolden keeps the three forms of two scenarios. Look at a picture that has
// changed before you commit it.
func TestGolden(t *testing.T) {
	fig3b, err := builtin.Read("hpl2002/fig3b")
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range map[string][]byte{"fig3b": fig3b, "odd": []byte(odd)} {
		s, f := open(t, src)
		for ext, draw := range map[string]func(io.Writer, *scenario.Scenario, *fabric.Fabric, *Loads) error{"svg": SVG, "dot": DOT, "mmd": Mermaid} {
			var got bytes.Buffer
			if err := draw(&got, s, f, FlowLoads(f)); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/"+name+"."+ext, got.Bytes())
		}
	}
}

// TestPicturesInDocs: the pictures in docs are those of the scenarios that they show.
func TestPicturesInDocs(t *testing.T) {
	incast, err := os.ReadFile("../../../docs/examples/incast.yaml")
	if err != nil {
		t.Fatal(err)
	}
	hpl2002, err := builtin.Read("hpl2002/fig3b")
	if err != nil {
		t.Fatal(err)
	}
	for file, src := range map[string][]byte{"examples/incast.svg": incast, "papers/hpl2002-fabric.svg": hpl2002} {
		s, f := open(t, src)
		var got bytes.Buffer
		if err := SVG(&got, s, f, FlowLoads(f)); err != nil {
			t.Fatal(err)
		}
		golden.File(t, "../../../docs/"+file, got.Bytes())
	}
}

func TestCompress(t *testing.T) {
	for names, want := range map[string]string{
		"A":                     "A",
		"A1":                    "A1",
		"A1 A2 A3":              "A[1-3]",
		"A1 A2 A2 A4 B4 B5":     "A[1-2], A4, B[4-5]",
		"A01 A02 x y-1-7 y-1-8": "A01, A02, x, y-1-[7-8]",
		"A9 A10 A8":             "A[9-10], A8",
		"A0 A1":                 "A[0-1]",
	} {
		if got := compress(strings.Fields(names)); got != want {
			t.Errorf("%s: %s, not %s", names, got, want)
		}
	}
	if got := shorten("sender[1-8], receiver", 12); got != "sender[1-..." {
		t.Errorf("shortened to %q", got)
	}
}

// TestPlan: each node is on one node, each direction that a flow crosses on one
// lane, and a lane begins and ends at its nodes.
func TestPlan(t *testing.T) {
	for name, src := range sources(t) {
		s, f := open(t, src)
		p := NewPlan(s, f)
		nodes, hops, lines := map[string]int{}, map[fabric.Hop]int{}, 0
		const near = 0.1001 // of two places in tenths
		for i := range p.Nodes {
			n := &p.Nodes[i]
			for _, m := range n.Nodes {
				nodes[m]++
			}
			if b := n.Box; b[0] < -near || b[0]+b[2] > p.Size[0]+near || b[1] < 0 || b[1]+b[3] > p.Size[1] {
				t.Errorf("%s: %s is outside of the plan: %+v in %.0f", name, n.Label, n, p.Size)
			}
		}
		for i := range f.Nodes {
			if n := nodes[f.Nodes[i].Name]; n != 1 {
				t.Errorf("%s: %s is in %d places", name, f.Nodes[i].Name, n)
			}
		}
		for i := range p.Lanes {
			l := &p.Lanes[i]
			for k, h := range l.Hops {
				if hops[h]++; l.Lines[k] != lines {
					t.Errorf("%s: line %d of the plan is numbered %d", name, lines, l.Lines[k])
				}
				lines++
				ends := f.Wires[h.Wire].Ends
				if from, to := f.Nodes[ends[h.From].Node].Name, f.Nodes[ends[1-h.From].Node].Name; !slices.Contains(p.Nodes[l.From].Nodes, from) || !slices.Contains(p.Nodes[l.To].Nodes, to) {
					t.Errorf("%s: %s is on a lane from %s to %s", name, f.LinkName(h), p.Nodes[l.From].Label, p.Nodes[l.To].Label)
				}
			}
			for k, n := range []*Node{&p.Nodes[l.From], &p.Nodes[l.To]} {
				at, b := l.Curve[3*k], n.Box
				if at[0] < b[0]-near || at[0] > b[0]+b[2]+near || at[1] < b[1]-near || at[1] > b[1]+b[3]+near {
					t.Errorf("%s: a lane ends at %v, not at %s: %+v", name, at, n.Label, n)
				}
			}
		}
		for i := range f.Flows {
			for _, h := range f.Flows[i].Path.All() {
				if hops[h] != 1 {
					t.Errorf("%s: %s is on %d lanes", name, f.LinkName(h), hops[h])
				}
			}
		}
	}
}

// The label of a link is its state at the start, however often it changes; the changes are a list.
func TestChangesAreAList(t *testing.T) {
	const text = `
name: changes
model: {duration: 20ms}
defaults: {link: {rate: 1Gb/s, flow-control: pfc}}
switches: {S: {kind: output-queued}, T: {kind: output-queued}}
endpoints: [h1, h2]
links: ["h1 - S", {name: trunk, between: S - T}, "T - h2"]
flows: [{name: f, from: h1, to: h2, packet: 1024B}]
events:
  - {at: 1ms, link: trunk, loss: 0.01, for: 500us}
  - {at: 2ms, link: trunk, rate: 500Mb/s}
  - {at: 3ms, link: trunk, state: down}
  - {at: 4ms, link: trunk, state: up}
  - {at: 5ms, link: trunk, delay: 1us}
  - {at: 6ms, link: trunk, corruption: 0.01}
  - {at: 7ms, link: trunk, rate: 1Gb/s}
  - {at: 8ms, link: trunk, rate: 2Gb/s}
`
	s, f := open(t, []byte(text))
	for i := range f.Wires {
		want := ""
		if l := f.Wires[i].Link; l.Name == "trunk" {
			want = "trunk"
		}
		if got := newPicture(s, f, FlowLoads(f)).common.label(f.Wires[i].Link); got != want {
			t.Errorf("label %q, want %q", got, want)
		}
		slow := *f.Wires[i].Link
		slow.Rate /= 2
		if got, want := NewPlan(s, f).Label(&slow), strings.TrimPrefix(want+", 500Mb/s", ", "); got != want {
			t.Errorf("label %q at half the rate, want %q", got, want)
		}
	}
	for form, draw := range map[string]func(io.Writer, *scenario.Scenario, *fabric.Fabric, *Loads) error{"svg": SVG, "dot": DOT, "mmd": Mermaid} {
		var got bytes.Buffer
		if err := draw(&got, s, f, FlowLoads(f)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"1ms: link trunk: loss of 0.01", "2ms: link trunk", "and 1 more change"} {
			if !strings.Contains(got.String(), want) {
				t.Errorf("%s lacks %q", form, want)
			}
		}
	}
}
