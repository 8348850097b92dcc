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
		r := newRoutes(Routes{To: by}, 8)
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

// What a switch at the edge writes down are its own endpoints.
func TestRoutesAreShort(t *testing.T) {
	by := make([]port.ID, 2000)
	for i := range 10 {
		by[1500+i] = port.ID(1 + i)
	}
	if r := newRoutes(Routes{To: by}, 11); len(r.other) != 10 || r.base != 1500 {
		t.Errorf("%d routes from %d on, want 10 from 1500", len(r.other), r.base)
	}
}
