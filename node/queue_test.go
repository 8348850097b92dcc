package node

import (
	"testing"

	"fabemu/wire/unit"
)

// A queue gives what was put into it, in order, however it grows and wherever its head
// is.
func TestQueueIsFirstInFirstOut(t *testing.T) {
	for stream := range uint64(5) {
		random := unit.NewRandom(10, stream)
		var q queue[int]
		var want []int
		for step := range 20_000 {
			if random.Below(100) < 45+uint64(step/2000) {
				q.push(step)
				want = append(want, step)
			} else if !q.empty() {
				if got := *q.front(); got != want[0] {
					t.Fatalf("step %d: %d comes, want %d", step, got, want[0])
				}
				q.pop()
				want = want[1:]
			}
			if q.len() != len(want) || q.empty() != (len(want) == 0) {
				t.Fatalf("step %d: %d in the queue, want %d", step, q.len(), len(want))
			}
		}
		for i, w := range want {
			if got := *q.at(i); got != w {
				t.Fatalf("place %d holds %d, want %d", i, got, w)
			}
		}
	}
}

// A table finds the queue pairs that it was made of, each at its place, and no other.
func TestTableFindsItsOwn(t *testing.T) {
	for _, pairs := range [][]uint32{nil, {0}, {7}, {5, 3, 9}, {1<<24 - 1, 1<<24 - 3}, {100, 101, 102}, {102, 101, 100}, {100, 102, 101, 200}} {
		table := newTable(pairs)
		place := map[uint32]int{}
		for i, p := range pairs {
			place[p] = i
		}
		for _, qp := range append([]uint32{0, 1, 2, 3, 4, 6, 8, 9, 10, 99, 100, 150, 200, 201, 1<<24 - 2, 1 << 24, 1<<32 - 1}, pairs...) {
			got, ok := table.find(qp)
			want, in := place[qp]
			if ok != in || ok && got != want {
				t.Errorf("%v: find(%d) = %d, %v; want %d, %v", pairs, qp, got, ok, want, in)
			}
		}
	}
}
