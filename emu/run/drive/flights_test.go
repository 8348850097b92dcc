package drive

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// "The lowest place that is free is taken first", and no place is taken twice.
func TestFlightsTakeTheLowestPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	f := newFlights(0)
	var taken []bool // by place
	var places []int32
	for step := range 100_000 {
		// More and more, then fewer and fewer: more than 64*at most 64 places.
		if more := step < 50_000; len(places) == 0 || (random.IntN(10) < 6) == more {
			want := slices.Index(taken, false)
			if want < 0 {
				want, taken = len(taken), append(taken, false)
			}
			got := f.place()
			if int(got) != want {
				t.Fatalf("step %d: place %d is taken, and %d is free", step, got, want)
			}
			if int(got) >= len(f.all) {
				t.Fatalf("step %d: place %d of %d", step, got, len(f.all))
			}
			taken[got] = true
			places = append(places, got)
			continue
		}
		k := random.IntN(len(places))
		f.put(places[k])
		taken[places[k]] = false
		places = slices.Delete(places, k, k+1)
	}
	if len(taken) <= 64*64 {
		t.Errorf("%d places: too few for the second word of those that are not full", len(taken))
	}
}
