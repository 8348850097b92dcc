package agenda

import (
	"math/bits"

	"fabemu/wire/unit"
)

// fan is how many children a node has, so many that their keys fit into a cache line; but for the
// root, which is near the processor and asked for each time: it has few.
const (
	fan     = 8
	rootFan = 4
)

// line is the children of a node, by their keys.
type line [fan]int64

// never is the key of whatever is not due, and above all others.
const never = int64(unit.Never)

// Agenda is a table of instants. Make one with New.
//
// A key is an instant with the number of its slot behind it. So of two keys the lower one
// comes first, ties included, and the key at the root is that slot's number: a search
// from the root down would branch at each level, where in a large fabric no processor
// could guess it.
type Agenda struct {
	first int64     // the root: the least of all keys
	due   unit.Time // its instant
	last  unit.Time // the instant of Last
	mask  int64     // the bits of a key that are the slot
	base  int32     // the place of slot 0
	shift uint8     // how many they are; "& 63" shows the compiler that they are fewer than 64
	// tree is level by level. Place n is tree[n/fan][n%fan], and its children are
	// tree[n+rootFan]; the first rootFan lines are below the root, and root has their least
	// keys. The last level is the slots, padded with never to whole lines.
	tree []line
	root [rootFan]int64
}

// New returns an agenda of n slots, all Never.
func New(n int) *Agenda {
	a := &Agenda{first: never, due: unit.Never, shift: uint8(bits.Len(uint(max(n, 1) - 1)))}
	a.last, a.mask = unit.Time(never>>a.shift)-1, 1<<a.shift-1
	base := 0
	for width := rootFan * fan; width < n; width *= fan {
		base += width
	}
	a.base = int32(base)
	a.tree = make([]line, base/fan+max((n+fan-1)/fan, 1))
	for i := range a.tree {
		for k := range a.tree[i] {
			a.tree[i][k] = never
		}
	}
	for i := range a.root {
		a.root[i] = never
	}
	return a
}

// Last returns the last instant that an agenda can distinguish from later ones: a slot that is
// set later, if not to Never, is due then. The more slots, the earlier: with a thousand of
// them it is after more than two hours, with a million after more than eight seconds.
func (a *Agenda) Last() unit.Time { return a.last }

// key returns the key of a slot that is due at t.
func (a *Agenda) key(slot int, t unit.Time) int64 {
	if t == unit.Never {
		return never
	}
	return int64(min(t, a.last))<<(a.shift&63) | int64(slot)
}

func (a *Agenda) instant(key int64) unit.Time {
	if key == never {
		return unit.Never
	}
	return unit.Time(key >> (a.shift & 63))
}

// First returns the slot that is due first and its instant. If no slot is due the instant is
// unit.Never, and the slot means nothing.
func (a *Agenda) First() (slot int, due unit.Time) {
	return int(a.first & a.mask), a.due
}

// Next returns the instant of the slot that is due first.
func (a *Agenda) Next() unit.Time { return a.due }

// Due returns the instant of a slot.
func (a *Agenda) Due(slot int) unit.Time {
	n := int(a.base) + slot
	return a.instant(a.tree[n/fan][n%fan])
}

// earliest returns the least of a line.
func (l *line) earliest() int64 {
	return min(min(min(l[0], l[1]), min(l[2], l[3])), min(min(l[4], l[5]), min(l[6], l[7])))
}

// Set makes a slot due at t. The nodes above it are worked out as far up as something changes.
func (a *Agenda) Set(slot int, t unit.Time) {
	key := a.key(slot, t)
	n := uint(int(a.base) + slot)
	at := n / fan
	l := &a.tree[at]
	was := l[n%fan]
	if key == was {
		return
	}
	l[n%fan] = key
	if key < was {
		for at >= rootFan {
			n = at - rootFan
			at = n / fan
			l = &a.tree[at]
			if l[n%fan] <= key {
				return
			}
			l[n%fan] = key
		}
		a.root[at] = min(a.root[at], key)
		if key < a.first {
			a.first, a.due = key, a.instant(key)
		}
		return
	}
	for at >= rootFan {
		n = at - rootFan
		at = n / fan
		up := &a.tree[at]
		if up[n%fan] != was {
			return // another one of the line came first, and still does
		}
		up[n%fan] = l.earliest()
		l = up
	}
	if a.root[at] == was {
		a.raise(at, l)
	}
}

// Unset cancels the instant of a slot: Set to Never, in fewer steps where the slot is due first.
func (a *Agenda) Unset(slot int) {
	if slot != int(a.first&a.mask) {
		a.Set(slot, unit.Never)
		return
	}
	tree, n := a.tree, uint(int(a.base)+slot)
	at := n / fan
	l := &tree[at]
	l[n%fan] = never
	for at >= rootFan { // it came first in each line
		n = at - rootFan
		at = n / fan
		up := &tree[at]
		up[n%fan] = l.earliest()
		l = up
	}
	a.raise(at, l)
}

// raise works out the root where the least key of a line below it is higher than it was.
func (a *Agenda) raise(at uint, l *line) {
	r := &a.root
	r[at%rootFan] = l.earliest()
	a.first = min(min(r[0], r[1]), min(r[2], r[3]))
	a.due = a.instant(a.first)
}
