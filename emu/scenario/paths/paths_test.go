package paths_test

import (
	"testing"

	"fabemu/emu/scenario/paths"
)

// TestNext: nodes 0 to 3 are switches in a square with two ways from 0 to 3,
// 4 and 5 are endpoints, 6 is alone.
func TestNext(t *testing.T) {
	names := []string{"in", "S2", "S10", "out", "a", "b", "alone"}
	g := paths.New(names, 4, [][2]int{{4, 0}, {0, 1}, {0, 2}, {2, 0}, {1, 3}, {2, 3}, {3, 5}})
	none := paths.Step{Link: -1, To: -1}
	for dst, want := range map[int][]paths.Step{
		5: {{2, 2}, {4, 3}, {5, 3}, {6, 5}, {0, 0}, none, none},
		4: {{0, 4}, {1, 0}, {2, 0}, {5, 2}, none, {6, 3}, none},
		2: {{2, 2}, {1, 0}, none, {5, 2}, {0, 0}, {6, 3}, none},
		6: {none, none, none, none, none, none, none},
	} {
		for from := range names {
			got, ok := g.Next(from, dst)
			if !ok {
				got = none
			}
			if got != want[from] {
				t.Errorf("from %s to %s: %+v, not %+v", names[from], names[dst], got, want[from])
			}
		}
	}
}

// TestEndpointsForwardNothing: no way leads over an endpoint, also when it has
// two links; one with two links takes the shorter way, and is reached by it.
func TestEndpointsForwardNothing(t *testing.T) {
	//	e - S - d - T - f, and e - T
	g := paths.New([]string{"S", "T", "d", "e", "f"}, 2, [][2]int{{3, 0}, {0, 2}, {2, 1}, {1, 4}, {3, 1}})
	for _, c := range []struct {
		from, dst int
		want      paths.Step
		ok        bool
	}{
		{0, 4, paths.Step{}, false}, {3, 4, paths.Step{4, 1}, true}, {2, 4, paths.Step{2, 1}, true}, {0, 3, paths.Step{0, 3}, true},
		{0, 1, paths.Step{}, false}, {1, 2, paths.Step{2, 2}, true}, {4, 3, paths.Step{3, 1}, true}, {4, 0, paths.Step{}, false},
	} {
		if got, ok := g.Next(c.from, c.dst); ok != c.ok || ok && got != c.want {
			t.Errorf("from %d to %d: %+v, %t", c.from, c.dst, got, ok)
		}
	}
	two := paths.New([]string{"a", "b"}, 0, [][2]int{{0, 1}})
	if got, ok := two.Next(0, 1); !ok || got != (paths.Step{Link: 0, To: 1}) {
		t.Errorf("two endpoints: %+v, %t", got, ok)
	}
}

// TestFix: a fixed step counts whatever is the shortest, for its node and its
// destination alone.
func TestFix(t *testing.T) {
	// A ring of A, B and C, with an endpoint each.
	g := paths.New([]string{"A", "B", "C", "a", "b", "c"}, 3, [][2]int{{0, 1}, {1, 2}, {2, 0}, {0, 3}, {1, 4}, {2, 5}})
	g.Fix(0, 5, paths.Step{Link: 0, To: 1})
	for _, c := range []struct{ from, dst, link int }{{0, 5, 0}, {1, 5, 1}, {0, 4, 0}, {2, 3, 2}, {3, 5, 3}} {
		if s, ok := g.Next(c.from, c.dst); !ok || s.Link != c.link {
			t.Errorf("from %d to %d: link %d, %t, want %d", c.from, c.dst, s.Link, ok, c.link)
		}
	}
}
