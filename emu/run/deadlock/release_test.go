package deadlock

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fabemu/wire/port"
)

// Who is stuck is the same as when all are asked again and again until nothing changes,
// whatever waits for whom.
func TestReleaseOfRandomWaits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		w := &Detector{waits: map[output]*waits{}}
		at := func(i int) output { return output{End: port.End{Node: i}} }
		n := 1 + r.IntN(12)
		for i := range n {
			o := &waits{}
			for range r.IntN(3) {
				o.holders = append(o.holders, at(r.IntN(n+1))) // the last of them waits for nothing
			}
			w.waits[at(i)] = o
		}
		want := make([]bool, n+1)
		for i := range n {
			want[i] = true
		}
		for again := true; again; {
			again = false
			for i := range n {
				o := w.waits[at(i)]
				if want[i] && (len(o.holders) == 0 || slices.ContainsFunc(o.holders, func(h output) bool { return !want[h.Node] })) {
					want[i], again = false, true
				}
			}
		}
		w.release()
		for i := range n {
			if got := w.waits[at(i)].stuck; got != want[i] {
				t.Fatalf("output %d of %d: stuck is %v, want %v", i, n, got, want[i])
			}
		}
	}
}
