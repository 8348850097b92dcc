package agenda_test

import (
	"testing"

	"fabemu/wire/agenda"
	"fabemu/wire/unit"
)

// Parts that share an agenda say of their own slots what each would say alone: "First
// returns the slot that is due first ... Where another user of the agenda has a slot that
// comes before, that is unit.Never."
func TestPartsOfOneAgenda(t *testing.T) {
	sizes := []int{3, 1, 9, 20}
	all := agenda.New(40)
	var parts []agenda.Slots
	var models []naive
	random, base := unit.NewRandom(3, 0), 5
	bases := []int{}
	for _, n := range sizes {
		p, m := agenda.NewSlots(n), newNaive(n)
		for slot := range n {
			m[slot] = unit.Time(random.Below(6))
			p.Set(slot, m[slot])
		}
		if due := p.Deadline(); due != p.Next() || p.Len() != n {
			t.Errorf("alone, %d slots: Deadline() = %v, Len() = %d", n, due, p.Len())
		}
		p.Move(all, base)
		bases = append(bases, base)
		parts, models, base = append(parts, p), append(models, m), base+n
	}
	for step := range 2000 {
		k := int(random.Below(uint64(len(parts))))
		slot, due := int(random.Below(uint64(sizes[k]))), unit.Time(random.Below(6))
		switch random.Below(20) {
		case 0:
			due = unit.Never
		case 1:
			parts[k].Clear()
			models[k] = newNaive(sizes[k])
		}
		parts[k].Set(slot, due)
		models[k][slot] = due
		first, at := all.First()
		for i := range parts {
			for slot, want := range models[i] {
				if got := parts[i].Due(slot); got != want {
					t.Fatalf("step %d, part %d: Due(%d) = %v, want %v", step, i, slot, got, want)
				}
			}
			wantSlot, wantDue := models[i].first()
			if wantDue == unit.Never || first != bases[i]+wantSlot {
				wantSlot, wantDue = 0, unit.Never
			} else if at != wantDue {
				t.Fatalf("step %d: the agenda says %v, part %d %v", step, at, i, wantDue)
			}
			if slot, due := parts[i].First(); due != wantDue || slot != wantSlot || parts[i].Next() != due {
				t.Fatalf("step %d, part %d: First() = %d, %v, want %d, %v", step, i, slot, due, wantSlot, wantDue)
			}
			for by := range unit.Time(6) {
				if slot, due := parts[i].DueBy(by); due != (wantDue <= by) || due && slot != wantSlot {
					t.Fatalf("step %d, part %d: DueBy(%d) = %d, %v, want %d at %v", step, i, by, slot, due, wantSlot, wantDue)
				}
			}
			if parts[i].Deadline() != unit.Never {
				t.Fatalf("part %d shares an agenda and has a deadline", i)
			}
		}
	}
}

// Now gives the lowest of the numbers that were added and not removed.
func TestNow(t *testing.T) {
	for _, n := range []int{1, 64, 65, 500} {
		random, now, due := unit.NewRandom(1, uint64(n)), agenda.NewNow(n), map[int]bool{}
		for range 50 * n {
			i := int(random.Below(uint64(n)))
			switch random.Below(100) {
			case 0:
				now.Clear()
				clear(due)
			default:
				if due[i] = random.Below(2) == 0; due[i] {
					now.Add(i)
				} else {
					now.Remove(i)
					delete(due, i)
				}
			}
			least := n
			for i := range due {
				least = min(least, i)
			}
			if now.Any() != (least < n) || least < n && now.First() != least {
				t.Fatalf("of %d: Any() = %v, the lowest should be %d", n, now.Any(), least)
			}
		}
	}
}
