package drive

import (
	"math/rand/v2"
	"testing"
)

// "The place that was given back last is taken first", and none is taken twice.
func TestFlightsTakeThePlaceGivenBackLast(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	f, taken, last := newFlights(0), map[int32]bool{}, none
	for step := range 100_000 {
		// More and more, then fewer and fewer.
		if more := step < 50_000; len(taken) == 0 || (random.IntN(10) < 6) == more {
			got, n := f.place(), len(f.all)
			if taken[got] || last != none && got != last || int(got) >= n {
				t.Fatalf("step %d: place %d of %d, and %d was given back last", step, got, n, last)
			}
			taken[got], last = true, none
			continue
		}
		for i := range taken { // any
			f.put(i)
			delete(taken, i)
			last = i
			break
		}
	}
	if len(f.all) < 5000 {
		t.Errorf("%d places", len(f.all))
	}
}
