package agenda_test

import (
	"fmt"
	"testing"

	"fabemu/wire/agenda"
	"fabemu/wire/unit"
)

// naive is what an Agenda promises, written down without any cleverness.
type naive []unit.Time

func newNaive(n int) naive {
	m := make(naive, n)
	for i := range m {
		m[i] = unit.Never
	}
	return m
}

// first looks at every slot: "Of several slots due at the same instant the lowest
// comes first".
func (m naive) first() (int, unit.Time) {
	best := 0
	for i, t := range m {
		if t < m[best] {
			best = i
		}
	}
	return best, m[best]
}

// Whatever is set in whatever order, an agenda says what a table says that is
// searched from its first slot to its last. Instants are drawn from few, so that
// most of them tie.
func TestSameAsATable(t *testing.T) {
	sizes := []int{100, 127, 128, 129, 1000}
	for n := 1; n <= 70; n++ {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		random := unit.NewRandom(1, uint64(n))
		a, m := agenda.New(n), newNaive(n)
		for step := range 40*n + 200 {
			slot, due := int(random.Below(uint64(n))), unit.Time(random.Below(6))
			if random.Below(4) == 0 {
				due = unit.Never
			}
			if random.Below(4) == 0 {
				if first, at := a.First(); at != unit.Never && random.Below(2) == 0 {
					slot = first
				}
				due = unit.Never
				a.Unset(slot)
			} else {
				a.Set(slot, due)
			}
			m[slot] = due
			compare(t, fmt.Sprintf("%d slots, step %d, after Set(%d, %v)", n, step, slot, due), a, m)
			if t.Failed() {
				return
			}
		}
		for i := range n {
			if got := a.Due(i); got != m[i] {
				t.Errorf("%d slots: Due(%d) = %v, want %v", n, i, got, m[i])
			}
		}
	}
}

func compare(t *testing.T, when string, a *agenda.Agenda, m naive) {
	t.Helper()
	slot, due := a.First()
	wantSlot, wantDue := m.first()
	if due != wantDue || due != unit.Never && slot != wantSlot {
		t.Errorf("%s: First() = %d, %v; want %d, %v", when, slot, due, wantSlot, wantDue)
	}
	if got := a.Next(); got != wantDue {
		t.Errorf("%s: Next() = %v, want %v", when, got, wantDue)
	}
}

// "Of several slots due at the same instant the lowest comes first": taken one by
// one, all slots of an instant come in their order, and then those of the next.
func TestTiesComeInTheOrderOfSlots(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 8, 21, 64, 65} {
		a := agenda.New(n)
		for i := n - 1; i >= 0; i-- {
			a.Set(i, unit.Time(10+i%2)) // the even ones at 10, the odd ones at 11
		}
		var want []int
		for odd := range 2 {
			for i := odd; i < n; i += 2 {
				want = append(want, i)
			}
		}
		for k, w := range want {
			slot, due := a.First()
			if slot != w || due != unit.Time(10+w%2) {
				t.Fatalf("%d slots: number %d to come is slot %d at %v, want %d", n, k, slot, due, w)
			}
			a.Set(slot, unit.Never)
		}
	}
}

// "An Agenda has a fixed number of slots; each holds one instant, or Never": a new
// one holds nothing, and an emptied one is as new, also where the number of slots
// is no power of two and the tree has places that are no slots.
func TestNothingIsDue(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 6, 7, 8, 9, 72} {
		a := agenda.New(n)
		if _, due := a.First(); due != unit.Never || a.Next() != unit.Never {
			t.Errorf("%d slots, new: First() is due at %v", n, due)
		}
		for i := range n {
			a.Set(i, unit.Time(i))
		}
		for i := range n {
			a.Set(i, unit.Never)
		}
		if _, due := a.First(); due != unit.Never || a.Next() != unit.Never {
			t.Errorf("%d slots, emptied: First() is due at %v", n, due)
		}
	}
}

// The whole range of instants may be in an agenda: the beginning of the run,
// what was due before it, and the last instant before Never. "A slot that is set later"
// than Last, "if not to Never, is due then".
func TestEndsOfTime(t *testing.T) {
	for n, least := range map[int]unit.Duration{1: unit.Duration(unit.Never - 2), 3: 1 << 60, 1000: 7200 * unit.Second, 1_000_000: 8 * unit.Second} {
		a := agenda.New(n)
		if a.Last() < unit.Time(least) {
			t.Errorf("%d slots: Last() = %v, want %v at least", n, a.Last(), least)
		}
		for _, due := range []unit.Time{unit.Never - 1, a.Last(), a.Last() - 1} {
			a.Set(n-1, due)
			want := min(due, a.Last())
			if slot, got := a.First(); slot != n-1 || got != want || a.Due(n-1) != want {
				t.Errorf("%d slots, set to %d: First() = %d, %d, want %d, %d", n, due, slot, got, n-1, want)
			}
		}
		a.Set(n-1, unit.Never)
		if a.Due(n-1) != unit.Never || a.Next() != unit.Never {
			t.Errorf("%d slots: Never is not that any more", n)
		}
	}
	a := agenda.New(3)
	a.Set(2, 1)
	a.Set(1, 0)
	a.Set(0, -1)
	if slot, due := a.First(); slot != 0 || due != -1 {
		t.Errorf("First() = %d, %d, want 0, -1", slot, due)
	}
}
