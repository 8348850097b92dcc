package agenda

import "fabemu/wire/unit"

// fan is how many children a node has: so many instants fit into a cache line.
const fan = 8

// line is the children of a node.
type line [fan]unit.Time

// Agenda is a table of instants. Make one with New.
type Agenda struct {
	first unit.Time // the root: the earliest of all
	base  int       // the place of slot 0
	// tree is level by level. Place n is tree[n/fan][n%fan], what is below it is
	// tree[n+1], and tree[0] is below the root. The last level is the slots, padded with
	// Never to whole lines.
	tree []line
}

// New returns an agenda of n slots, all Never.
func New(n int) *Agenda {
	a := &Agenda{first: unit.Never}
	for width := fan; width < n; width *= fan {
		a.base = fan * (a.base + 1)
	}
	a.tree = make([]line, a.base/fan+max((n+fan-1)/fan, 1))
	for i := range a.tree {
		for k := range a.tree[i] {
			a.tree[i][k] = unit.Never
		}
	}
	return a
}

// First returns the slot that is due first and its instant: unit.Never when no
// slot is due.
func (a *Agenda) First() (slot int, due unit.Time) {
	due = a.first
	n := a.tree[0].find(due)
	for n < a.base {
		below := n + 1
		n = below*fan + a.tree[below].find(due)
	}
	return n - a.base, due
}

// find returns the first place that has t; one has. In a fabric the same places come
// again and again, so that where the search ends is mostly guessed right.
func (l *line) find(t unit.Time) int {
	for k := range l {
		if l[k] == t {
			return k
		}
	}
	return 0
}

// earliest returns the least of a line.
func (l *line) earliest() unit.Time {
	return min(min(min(l[0], l[1]), min(l[2], l[3])), min(min(l[4], l[5]), min(l[6], l[7])))
}

// Next returns the instant of the slot that is due first.
func (a *Agenda) Next() unit.Time { return a.first }

// Due returns the instant of a slot.
func (a *Agenda) Due(slot int) unit.Time {
	n := a.base + slot
	return a.tree[n/fan][n%fan]
}

// Set makes a slot due at t.
func (a *Agenda) Set(slot int, t unit.Time) {
	n := uint(a.base + slot)
	for {
		at := n / fan
		l := &a.tree[at]
		was := l[n%fan]
		if was == t {
			return
		}
		l[n%fan] = t
		above := &a.first
		if at > 0 {
			n = at - 1
			above = &a.tree[n/fan][n%fan]
		}
		switch {
		case t < *above: // it is the earliest of its line now
		case was == *above: // it was
			t = l.earliest()
		default:
			return // nothing above changes
		}
		if at == 0 {
			a.first = t
			return
		}
	}
}
