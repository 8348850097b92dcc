package switchd

import (
	"testing"

	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// "It forwards by a table of LIDs": whatever the table, each address gets what it says,
// and an address behind its end has no route.
func TestRoutesSayWhatTheTableSays(t *testing.T) {
	random := unit.NewRandom(1, 1)
	for n := range 200 {
		by := make([]port.ID, n)
		for i := range by {
			switch by[i] = port.ID(random.Below(3)); {
			case random.Below(4) == 0:
				by[i] = NoRoute
			case n%2 == 0 && (i < n/3 || i > n/2): // as at the edge of a fabric
				by[i] = 7
			}
		}
		r := newRoutes(Routes{To: by}, 8, true)
		for dst := range n + 5 {
			want := NoRoute
			if dst < n {
				want = by[dst]
			}
			if got, ok := r.forward(&wire.Frame{Dst: wire.LID(dst)}, 1); ok != (want != NoRoute) || ok && got != int(want) {
				t.Fatalf("%v: forward(%d) = %d, %v; want %d", by, dst, got, ok, want)
			}
		}
	}
}

// Pages of addresses that a switch reaches by the same port are stored once: one of each pod, two
// of its own endpoints, and the one that is not full.
func TestRoutesAreShort(t *testing.T) {
	by := make([]port.ID, 2000)
	for i := range by {
		by[i] = port.ID(i / 640 % 2) // of pods
	}
	for i := range 10 {
		by[1500+i] = port.ID(2 + i) // its own endpoints
	}
	if r := newRoutes(Routes{To: by}, 12, true); len(r.pages) != 5*pageSize || len(r.page) != 63 {
		t.Errorf("%d pages for %d, want 5 for 63", len(r.pages)/pageSize, len(r.page))
	}
}
