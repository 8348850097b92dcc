package agenda

import "fabemu/wire/unit"

// Agenda is a table of instants. Make one with New.
type Agenda struct {
	// tree[1] is the root, tree[2n] and tree[2n+1] are below tree[n], and the slots
	// are the second half, padded with Never to a power of two.
	tree []unit.Time
}

// New returns an agenda of n slots, all Never.
func New(n int) *Agenda {
	width := 1
	for width < n {
		width *= 2
	}
	a := &Agenda{tree: make([]unit.Time, 2*width)}
	for i := range a.tree {
		a.tree[i] = unit.Never
	}
	return a
}

// First returns the slot that is due first and its instant: unit.Never when no
// slot is due.
func (a *Agenda) First() (slot int, due unit.Time) {
	tree := a.tree
	due = tree[1]
	width := len(tree) / 2
	n := 1
	for n < width {
		n *= 2
		if tree[n] != due { // then it is on the right; on a tie, the left wins
			n++
		}
	}
	return n - width, due
}

// Next returns the instant of the slot that is due first.
func (a *Agenda) Next() unit.Time { return a.tree[1] }

// Due returns the instant of a slot.
func (a *Agenda) Due(slot int) unit.Time { return a.tree[len(a.tree)/2+slot] }

// Set makes a slot due at t.
func (a *Agenda) Set(slot int, t unit.Time) {
	tree := a.tree
	n := len(tree)/2 + slot
	if tree[n] == t {
		return
	}
	tree[n] = t
	for n > 1 {
		first := min(tree[n], tree[n^1])
		n /= 2
		if tree[n] == first {
			return // nothing above changes
		}
		tree[n] = first
	}
}
