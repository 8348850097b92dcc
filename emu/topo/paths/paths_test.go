package paths_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fabemu/emu/topo/paths"
)

// TestTowards: machines 0 to 3 are switches in a square with two ways from 0 to
// 3, 4 and 5 are endpoints, 6 is alone.
func TestTowards(t *testing.T) {
	names := []string{"in", "S2", "S10", "out", "a", "b", "alone"}
	g := paths.New(names, 4, [][2]int{{4, 0}, {0, 1}, {0, 2}, {2, 0}, {1, 3}, {2, 3}, {3, 5}})
	none := paths.Step{Link: -1, To: -1}
	for dst, want := range map[int][]paths.Step{
		5: {{2, 2}, {4, 3}, {5, 3}, {6, 5}, {0, 0}, none, none},
		4: {{0, 4}, {1, 0}, {2, 0}, {5, 2}, none, {6, 3}, none},
		6: {none, none, none, none, none, none, none},
	} {
		if diff := cmp.Diff(want, g.Towards(dst)); diff != "" {
			t.Errorf("towards %s (-want +got):\n%s", names[dst], diff)
		}
	}
}

// TestEndpointsForwardNothing: the way over an endpoint is none.
func TestEndpointsForwardNothing(t *testing.T) {
	g := paths.New([]string{"S", "T", "e", "f"}, 2, [][2]int{{0, 2}, {2, 1}, {1, 3}})
	steps := g.Towards(3)
	if steps[0].Link != -1 || steps[2] != (paths.Step{Link: 1, To: 1}) {
		t.Errorf("%v", steps)
	}
}
