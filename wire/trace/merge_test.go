package trace_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// A merge of queues gives what a stable sort of all their entries gives.
func TestMerge(t *testing.T) {
	type entry struct {
		trace.Key
		queue, number int
	}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		queues := make([][]entry, random.IntN(8))
		var all []entry
		for q := range queues {
			for range random.IntN(20) {
				// A place is of one queue, as a node is of one loop.
				queues[q] = append(queues[q], entry{Key: trace.Key{At: unit.Time(random.IntN(5)), Place: trace.Place(8*random.IntN(3) + q)}})
			}
			slices.SortStableFunc(queues[q], func(a, b entry) int { return a.Compare(b.Key) })
			for i := range queues[q] {
				queues[q][i].queue, queues[q][i].number = q, i
			}
			all = append(all, queues[q]...)
		}
		slices.SortStableFunc(all, func(a, b entry) int { return a.Compare(b.Key) })
		var m trace.Merge
		next := make([]int, len(queues))
		for q := range queues {
			if len(queues[q]) > 0 {
				m.Add(q, queues[q][0].Key)
			}
		}
		var got []entry
		for q, ok := m.First(); ok; q, ok = m.First() {
			got = append(got, queues[q][next[q]])
			if next[q]++; next[q] < len(queues[q]) {
				m.Next(queues[q][next[q]].Key)
			} else {
				m.End()
			}
		}
		if !slices.Equal(got, all) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, all)
		}
	}
}
