// Package agenda keeps the instants at which things fall due, and tells which is
// the first.
//
// An Agenda has a fixed number of slots; each holds one instant, or Never.
// Nothing is added or cancelled, only overwritten. Of several slots due at the
// same instant the lowest comes first: numbering the slots is how its user
// decides ties, and so how the total order of events is made (package
// emu/drive) and the order of work inside a switch (package switchd).
//
// It is a tournament tree: First is free, Set costs at most one comparison per
// doubling of the slots, and nothing allocates.
package agenda

import "fabemu/wire/unit"

// Agenda is a table of instants. Make one with New.
type Agenda struct {
	due  []unit.Time // by slot, padded with Never to a power of two
	best []int32     // best[n] is the first slot below node n; best[1] is the first of all
}

// New returns an agenda of n slots, all Never.
func New(n int) *Agenda {
	width := 1
	for width < n {
		width *= 2
	}
	a := &Agenda{due: make([]unit.Time, width), best: make([]int32, 2*width)}
	for i := range a.due {
		a.due[i] = unit.Never
		a.best[width+i] = int32(i)
	}
	for n := width - 1; n > 0; n-- {
		a.best[n] = a.best[2*n]
	}
	return a
}

// First returns the slot that is due first and its instant: unit.Never when no
// slot is due.
func (a *Agenda) First() (slot int, due unit.Time) {
	i := a.best[1]
	return int(i), a.due[i]
}

// Due returns the instant of a slot.
func (a *Agenda) Due(slot int) unit.Time { return a.due[slot] }

// Set makes a slot due at t.
func (a *Agenda) Set(slot int, t unit.Time) {
	if a.due[slot] == t {
		return
	}
	a.due[slot] = t
	for n := (len(a.due) + slot) / 2; n > 0; n /= 2 {
		left, right := a.best[2*n], a.best[2*n+1]
		first := left
		if a.due[right] < a.due[left] {
			first = right
		}
		if first == a.best[n] && int(first) != slot {
			return // nothing above has changed
		}
		a.best[n] = first
	}
}
