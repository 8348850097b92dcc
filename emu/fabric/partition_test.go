package fabric_test

import (
	"fmt"
	"slices"
	"testing"

	"fabemu/emu/fabric"
	"fabemu/emu/scenario/generate"
	"fabemu/emu/scenario/resolve"
)

func generated(t testing.TB, kind string, endpoints int) *fabric.Fabric {
	t.Helper()
	text, err := generate.Write(kind, generate.Options{Endpoints: endpoints})
	if err != nil {
		t.Fatal(err)
	}
	s, err := resolve.Load(kind+".yaml", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return build(t, s)
}

// crossed returns the share of flow-hops and of wires that lead from one part to another.
func crossed(f *fabric.Fabric, parts []int) (hops, wires float64) {
	cut := func(w int) bool { return parts[f.Wires[w].Ends[0].Node] != parts[f.Wires[w].Ends[1].Node] }
	all := 0
	for i := range f.Flows {
		for _, h := range f.Flows[i].Path.All() {
			if all++; cut(h.Wire) {
				hops++
			}
		}
	}
	for w := range f.Wires {
		if cut(w) {
			wires++
		}
	}
	return hops / float64(all), wires / float64(len(f.Wires))
}

// "The parts get about the same work, and few links ... lead from one part to another. ... The
// same fabric gives the same parts, always." Nodes are counted
// here, not work: of the incast, whose only switch has half of it, one node may be a part.
func TestPartition(t *testing.T) {
	for _, x := range []struct {
		kind      string
		endpoints int
		parts     int
		hops      float64 // that cross from part to part, at most
	}{
		{"fat-tree", 250, 2, 0.2},
		{"fat-tree", 2000, 2, 0.2},
		{"fat-tree", 250, 4, 0.3},
		{"parking-lot", 40, 3, 0.2},
		{"hpl2002", 22, 2, 0.2},
		{"dumbbell", 64, 2, 0.35},
		{"incast", 64, 2, 1},
		{"incast", 64, 1, 0},
	} {
		t.Run(fmt.Sprint(x.kind, x.endpoints, x.parts), func(t *testing.T) {
			f := generated(t, x.kind, x.endpoints)
			parts := f.Partition(x.parts)
			nodes := make([]int, x.parts)
			for _, p := range parts {
				nodes[p]++
			}
			for k, n := range nodes {
				want := float64(len(f.Nodes)) / float64(x.parts)
				if x.kind != "incast" && (float64(n) < want/2 || float64(n) > 2*want) {
					t.Errorf("part %d has %d nodes of %d, want about %.0f", k, n, len(f.Nodes), want)
				}
			}
			hops, wires := crossed(f, parts)
			t.Logf("nodes %v, hops that cross %.3f, wires %.3f", nodes, hops, wires)
			if hops > x.hops {
				t.Errorf("%.3f of the hops cross from part to part, want %.3f at most", hops, x.hops)
			}
			if again := generated(t, x.kind, x.endpoints).Partition(x.parts); !slices.Equal(again, parts) {
				t.Errorf("the same fabric has other parts the second time")
			}
		})
	}
}

// "With fewer of these than parts some parts are empty."
func TestPartitionIntoMoreThanThereIs(t *testing.T) {
	f := generated(t, "incast", 2)
	seen := map[int]bool{}
	for _, p := range f.Partition(50) {
		if seen[p] {
			t.Errorf("two nodes are in part %d, and others are empty", p)
		}
		seen[p] = true
	}
}
