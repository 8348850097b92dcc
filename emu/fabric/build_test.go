package fabric_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario"
	"fabemu/emu/scenario/builtin"
	"fabemu/emu/scenario/resolve"
	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

func load(t testing.TB, src string) *scenario.Scenario {
	t.Helper()
	s, err := resolve.Load("test.yaml", []byte(src), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return s
}

func build(t testing.TB, s *scenario.Scenario) *fabric.Fabric {
	t.Helper()
	f, err := fabric.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func hpl2002(t testing.TB) *scenario.Scenario {
	t.Helper()
	src, err := builtin.Read(builtin.Default)
	if err != nil {
		t.Fatal(err)
	}
	return load(t, string(src))
}

// TestHPL2002 looks at the fabric of Fig. 1 as laid out.
func TestHPL2002(t *testing.T) {
	s := hpl2002(t)
	f := build(t, s)
	names := []string{"A", "B", "A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8", "A9", "A10", "AV", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "BC", "BV"}
	for i, m := range f.Nodes {
		if m.Name != names[i] || m.LID != wire.LID(i+1) || (m.Switch != nil) != (i < 2) {
			t.Errorf("node %d is %s, LID %d", i, m.Name, m.LID)
		}
		if ports := map[int]int{0: 12, 1: 13}[i] + b2i(i >= 2); len(m.Ports) != ports {
			t.Errorf("%s has %d ports, not %d", m.Name, len(m.Ports), ports)
		}
	}
	// Ports are in the order of the links: A1 to A10, AV, then the trunk.
	if got := f.Table(0, 0).To; got[wire.LID(3)] != 0 || got[wire.LID(12)] != 9 || got[wire.LID(13)] != 10 || got[wire.LID(24)] != 11 || got[wire.LID(2)] != switchd.NoRoute || got[0] != switchd.NoRoute || got[1] != switchd.NoRoute {
		t.Errorf("routes of A: %v", got)
	}
	if got := f.Table(1, 0).To; got[wire.LID(14)] != 0 || got[wire.LID(3)] != 10 || got[wire.LID(24)] != 11 || got[wire.LID(25)] != 12 {
		t.Errorf("routes of B: %v", got)
	}
	victim := f.Flows[20]
	want := []fabric.Hop{{Wire: 10, From: 0}, {Wire: 21, From: 0}, {Wire: 23, From: 0}}
	if diff := cmp.Diff(want, victim.Path.Hops()); diff != "" || victim.QP != 22 || victim.Src != 12 || victim.Dst != 24 || victim.Stop != unit.Time(60*unit.Millisecond) {
		t.Errorf("victim %+v (-want +got):\n%s", victim, diff)
	}
	if f.Flows[0].Stop != unit.Never || f.Flows[0].QP != 2 {
		t.Errorf("%+v", f.Flows[0])
	}
	for i, l := range s.Links {
		if w := f.Wires[i]; w.Link != &s.Links[i] || w.Name != l.Name || f.Nodes[w.Ends[0].Node].Name != l.A || f.Nodes[w.Ends[1].Node].Name != l.B {
			t.Errorf("wire %d: %+v", i, w)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestStart: starts are drawn from the seed, within the jitter, and do not
// depend on the other flows.
func TestStart(t *testing.T) {
	s := hpl2002(t)
	f, again := build(t, s), build(t, s)
	distinct := map[unit.Duration]bool{}
	for i, fl := range f.Flows {
		late := fl.Start.Sub(unit.Time(fl.Flow.Start))
		if late < 0 || late >= fl.Jitter || fl.Start != again.Flows[i].Start {
			t.Errorf("%s starts %v late, and again at %v", fl.Name, late, again.Flows[i].Start)
		}
		distinct[late] = true
	}
	if len(distinct) < 20 {
		t.Errorf("only %d different jitters", len(distinct))
	}
	fewer := *s
	fewer.Flows = s.Flows[:3]
	if got := build(t, &fewer).Flows[2].Start; got != f.Flows[2].Start {
		t.Errorf("with fewer flows one starts at %v, not %v", got, f.Flows[2].Start)
	}
	other := *s
	other.Model.Seed = 2
	if build(t, &other).Flows[0].Start == f.Flows[0].Start {
		t.Error("another seed gives the same start")
	}
	exact := *s
	exact.Flows = slices.Clone(s.Flows)
	exact.Flows[1].Jitter = 0
	if got := build(t, &exact).Flows[1].Start; got != unit.Time(100*unit.Microsecond) {
		t.Errorf("without jitter the start is %v", got)
	}
}

// TestTies: of equal paths the one over the first name is taken, and of parallel
// links the first.
func TestTies(t *testing.T) {
	f := build(t, load(t, `name: ties
model: {duration: 10ms}
defaults: {link: {rate: 1GB/s}}
switches: {in: {}, S2: {}, S10: {}, out: {}}
endpoints: [a, b]
links:
  - a - in
  - in - S2
  - {name: x, between: S10 - in}
  - {name: w, between: in - S10}
  - S2 - out
  - S10 - out
  - out - b
flows: [{name: f, from: a, to: b}, {name: g, from: b, to: a}]
`))
	// "S10" sorts before "S2"; x is given before w, whatever their names.
	if diff := cmp.Diff([]fabric.Hop{{0, 0}, {2, 1}, {5, 0}, {6, 0}}, f.Flows[0].Path.Hops()); diff != "" {
		t.Errorf("there (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]fabric.Hop{{6, 1}, {5, 1}, {2, 0}, {0, 1}}, f.Flows[1].Path.Hops()); diff != "" {
		t.Errorf("back (-want +got):\n%s", diff)
	}
}

// TestRefused: a scenario that is built in Go may have flows without a path.
func TestRefused(t *testing.T) {
	s := hpl2002(t)
	s.Links = s.Links[:1]
	if _, err := fabric.Build(s); err == nil || !strings.Contains(err.Error(), "no path") {
		t.Error(err)
	}
}

// TestRoutesProperty makes topologies at random and follows every route of every
// switch: it leads to its destination, without loops, over no more links than
// the shortest path has.
func TestRoutesProperty(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomFabric(r)
		f := build(t, s)
		tables := make([]switchd.Routes, len(s.Switches))
		for i := range tables {
			tables[i] = f.Table(i, 0)
		}
		for dst := len(s.Switches); dst < len(f.Nodes); dst++ {
			hops := distances(f, dst)
			for from := range f.Nodes {
				if f.Nodes[from].Switch == nil || from == dst {
					continue
				}
				steps := 0
				for at := from; at != dst; steps++ {
					if steps > len(f.Nodes) || f.Nodes[at].Switch == nil {
						t.Fatalf("seed %d: the route from %s to %s goes astray at %s", seed, f.Nodes[from].Name, f.Nodes[dst].Name, f.Nodes[at].Name)
					}
					p := tables[at].To[f.Nodes[dst].LID]
					if p == switchd.NoRoute {
						t.Fatalf("seed %d: the route from %s to %s goes astray at %s", seed, f.Nodes[from].Name, f.Nodes[dst].Name, f.Nodes[at].Name)
					}
					at = peer(f, at, p)
				}
				if steps != hops[from] {
					t.Fatalf("seed %d: %d links from %s to %s, not %d", seed, steps, f.Nodes[from].Name, f.Nodes[dst].Name, hops[from])
				}
			}
		}
		for _, fl := range f.Flows {
			at := fl.Src
			for i, h := range fl.Path.All() {
				w := f.Wires[h.Wire]
				if w.Ends[h.From].Node != at {
					t.Fatalf("seed %d: hop %d of %s does not begin at %s", seed, i, fl.Name, f.Nodes[at].Name)
				}
				if m := f.Nodes[at]; m.Switch != nil && tables[at].To[f.Nodes[fl.Dst].LID] != w.Ends[h.From].Port {
					t.Fatalf("seed %d: %s does not follow the route of %s", seed, fl.Name, m.Name)
				}
				at = w.Ends[1-h.From].Node
			}
			if at != fl.Dst {
				t.Fatalf("seed %d: %s ends at %s", seed, fl.Name, f.Nodes[at].Name)
			}
		}
		checkPorts(t, f)
	}
}

// A table has for each endpoint the ports of all first steps, also where switches with links to the
// same switches share an entry.
func TestTablesHaveAllSteps(t *testing.T) {
	for seed := range uint64(60) {
		s := randomFabric(rand.New(rand.NewPCG(seed, 2)))
		s.Routing.Paths = scenario.ECMP
		f := build(t, s)
		for node := range s.Switches {
			table := f.Table(node, 0)
			for dst := len(s.Switches); dst < len(f.Nodes); dst++ {
				var want []port.ID
				for _, step := range f.Paths.Steps(nil, 0, node, dst) {
					p := slices.IndexFunc(f.Nodes[node].Ports, func(p fabric.Port) bool { return p.Wire == step.Link })
					want = append(want, port.ID(p))
				}
				got := []port.ID{table.To[f.Nodes[dst].LID]}
				if k := int(got[0]) - len(f.Nodes[node].Ports); k >= 0 && got[0] != switchd.NoRoute {
					got = table.Equal[k]
				}
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d: from %s to %s by ports %v, want %v", seed, f.Nodes[node].Name, f.Nodes[dst].Name, got, want)
				}
			}
		}
	}
}

// checkPorts checks that ports and wires name each other.
func checkPorts(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	ends := 0
	for i, m := range f.Nodes {
		last := -1
		for p, pt := range m.Ports {
			if got := f.Wires[pt.Wire].Ends[pt.End]; got != (fabric.End{Node: i, Port: port.ID(p)}) {
				t.Fatalf("port %d of %s is an end of %+v", p, m.Name, got)
			}
			if pt.Wire <= last {
				t.Fatalf("the ports of %s are not in the order of the links", m.Name)
			}
			last = pt.Wire
			ends++
		}
	}
	if ends != 2*len(f.Wires) {
		t.Fatalf("%d ports, %d wires", ends, len(f.Wires))
	}
}

// peer returns the machine at the other end of a port.
func peer(f *fabric.Fabric, node int, p port.ID) int {
	pt := f.Nodes[node].Ports[p]
	return f.Wires[pt.Wire].Ends[1-pt.End].Node
}

// distances returns the number of links from each node to a destination, by
// relaxing until nothing changes: slow, and another way than Build's.
func distances(f *fabric.Fabric, dst int) []int {
	const far = 1 << 30
	hops := make([]int, len(f.Nodes))
	for i := range hops {
		hops[i] = far
	}
	hops[dst] = 0
	for changed := true; changed; {
		changed = false
		for _, w := range f.Wires {
			for end := range w.Ends {
				a, b := w.Ends[end].Node, w.Ends[1-end].Node
				if (b == dst || f.Nodes[b].Switch != nil) && hops[b]+1 < hops[a] {
					hops[a], changed = hops[b]+1, true
				}
			}
		}
	}
	return hops
}

// randomFabric is a connected fabric of up to 12 switches with more links than a
// tree, parallel ones among them, and up to 20 endpoints.
func randomFabric(r *rand.Rand) *scenario.Scenario {
	s := &scenario.Scenario{Model: scenario.Model{Seed: r.Uint64()}}
	n := 1 + r.IntN(12)
	for _, i := range r.Perm(n) {
		s.Switches = append(s.Switches, scenario.Switch{Name: fmt.Sprintf("S%d", i)})
	}
	join := func(a, b string) {
		s.Links = append(s.Links, scenario.Link{Name: fmt.Sprintf("l%d", len(s.Links)), A: a, B: b, Rate: 8e9})
	}
	for i := 1; i < n; i++ {
		join(s.Switches[i].Name, s.Switches[r.IntN(i)].Name)
	}
	for range r.IntN(2 * n) {
		if a, b := r.IntN(n), r.IntN(n); a != b {
			join(s.Switches[a].Name, s.Switches[b].Name)
		}
	}
	for i := range 2 + r.IntN(19) {
		name := fmt.Sprintf("e%d", i)
		s.Endpoints = append(s.Endpoints, scenario.Endpoint{Name: name})
		join(name, s.Switches[r.IntN(n)].Name)
	}
	for i := range r.IntN(20) {
		from, to := r.IntN(len(s.Endpoints)), r.IntN(len(s.Endpoints))
		if from != to {
			s.Flows = append(s.Flows, scenario.Flow{Name: fmt.Sprintf("f%d", i), From: s.Endpoints[from].Name, To: s.Endpoints[to].Name})
		}
	}
	return s
}

// fatTree has k pods of switches and k*k*k/4 endpoints, each of which sends to
// one in another pod.
func fatTree(k int) *scenario.Scenario {
	s := &scenario.Scenario{Model: scenario.Model{Seed: 1}}
	sw := func(format string, args ...any) string {
		name := fmt.Sprintf(format, args...)
		s.Switches = append(s.Switches, scenario.Switch{Name: name})
		return name
	}
	join := func(a, b string) {
		s.Links = append(s.Links, scenario.Link{Name: a + " - " + b, A: a, B: b, Rate: 8e9})
	}
	var cores []string
	for i := range k * k / 4 {
		cores = append(cores, sw("c%d", i))
	}
	for p := range k {
		var up []string
		for i := range k / 2 {
			agg := sw("a%d-%d", p, i)
			up = append(up, agg)
			for j := range k / 2 {
				join(agg, cores[i*k/2+j])
			}
		}
		for i := range k / 2 {
			edge := sw("e%d-%d", p, i)
			for _, agg := range up {
				join(edge, agg)
			}
			for j := range k / 2 {
				host := fmt.Sprintf("h%d-%d-%d", p, i, j)
				s.Endpoints = append(s.Endpoints, scenario.Endpoint{Name: host})
				join(host, edge)
			}
		}
	}
	n := len(s.Endpoints)
	for i, from := range s.Endpoints {
		s.Flows = append(s.Flows, scenario.Flow{Name: from.Name, From: from.Name, To: s.Endpoints[(i+n/2)%n].Name})
	}
	return s
}

// TestLarge: 2000 endpoints are laid out; how fast is BenchmarkBuild's matter.
func TestLarge(t *testing.T) {
	s := fatTree(20)
	f := build(t, s)
	if len(s.Endpoints) != 2000 || len(f.Flows[0].Path.Hops()) != 6 {
		t.Errorf("%d endpoints, %d hops", len(s.Endpoints), len(f.Flows[0].Path.Hops()))
	}
}

// TestRoutes: what a scenario says of its routes counts for its flows and for its
// switches; routes that go round are refused.
func TestRoutes(t *testing.T) {
	s := &scenario.Scenario{
		Model:     scenario.Model{Duration: unit.Millisecond},
		Switches:  []scenario.Switch{{Name: "A"}, {Name: "B"}, {Name: "C"}},
		Endpoints: scenario.NewEndpoints("a", "b", "c"),
		Flows:     []scenario.Flow{{Name: "ac", From: "a", To: "c"}, {Name: "ab", From: "a", To: "b"}},
		Routes:    []scenario.Route{{At: "A", To: "c", Over: "A - B"}},
	}
	for _, ends := range [][2]string{{"a", "A"}, {"b", "B"}, {"c", "C"}, {"A", "B"}, {"B", "C"}, {"C", "A"}} {
		s.Links = append(s.Links, scenario.NewLink(ends[0], ends[1], 8e9))
	}
	f := build(t, s)
	for i, want := range []int{4, 3} { // links: a - A, A - B, B - C, C - c; a - A, A - B, B - b
		if got := len(f.Flows[i].Path.Hops()); got != want || f.Flows[i].Path.Hops()[1].Wire != 3 {
			t.Errorf("%s takes %+v", f.Flows[i].Name, f.Flows[i].Path.Hops())
		}
	}
	if out := f.Table(0, 0).To[f.Nodes[5].LID]; f.Nodes[0].Ports[out].Wire != 3 {
		t.Errorf("A sends to c by port %d", out)
	}
	s.Routes = append(s.Routes, scenario.Route{At: "B", To: "c", Over: "A - B"})
	if _, err := fabric.Build(s); err == nil || !strings.Contains(err.Error(), "the routes go round") {
		t.Errorf("routes that go round: %v", err)
	}
}

func BenchmarkBuild(b *testing.B) {
	s := fatTree(20)
	for b.Loop() {
		build(b, s)
	}
}
