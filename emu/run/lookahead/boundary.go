package lookahead

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Fabric is the nodes that parts share, and the least durations of what they do, on which promises
// are based.
type Fabric struct {
	Wires   [][2]port.End
	Least   []unit.Duration // by path: from the start of a frame until it is due
	Passing []unit.Duration // by node: from an arrival until it sends by another port because of it
}

// check refuses a fabric about which nothing can be promised.
func (f *Fabric) check() error {
	if len(f.Least) != 2*len(f.Wires) || f.Passing == nil {
		return errors.New("nothing can be promised in a fabric whose least times are not known")
	}
	for n, least := range f.Least {
		if least <= 0 {
			return fmt.Errorf("path %d takes no time: nothing can be promised about it", n)
		}
	}
	return nil
}

// Boundary is where a part of a fabric meets the others: the paths from and to other parts, by
// number, in ascending order; and the least time until an event in the part can matter at the other
// end of each path that leads away.
type Boundary struct {
	In, Out []int
	Nodes   []Node          // the nodes of the part that send
	Arrival map[int]Arrival // by path that leads to a node of the part
	paths   []int           // the keys of Arrival, in ascending order
}

// Node holds the least time from when a node does something until that can matter at the other end
// of a path that leads away.
type Node struct {
	Number int
	After  []unit.Duration // by index in Out
	sends  []int           // the paths that begin here
}

// Arrival holds the least time from when a frame is due at a node until it can matter at the other
// end of a path that leads away. The nodes of a part share After among the paths that come from
// other parts, because of these only the path back by the same port is shorter.
type Arrival struct {
	After []unit.Duration // by index in Out
	Back  int             // the index of the path that leads back by the same port; none: it stays in the part
	Reply unit.Duration   // the time on that path
}

// none is the place of a path that is not there.
const none = -1

// At returns the time for the path at index k of Out.
func (a *Arrival) At(k int) unit.Duration {
	if k == a.Back {
		return min(a.After[k], a.Reply)
	}
	return a.After[k]
}

// NewBoundary returns the boundary of the nodes for which here returns true.
func NewBoundary(f Fabric, here func(m int) bool) *Boundary {
	b := &Boundary{Arrival: map[int]Arrival{}}
	sends := map[int][]int{} // by node of the part
	place := map[int]int{}   // in Out, of each path
	for n := range 2 * len(f.Wires) {
		from, to := f.Wires[n/2][n%2].Node, f.Wires[n/2][1-n%2].Node
		if here(from) {
			sends[from] = append(sends[from], n)
		}
		switch {
		case here(from) && !here(to):
			place[n] = len(b.Out)
			b.Out = append(b.Out, n)
		case !here(from) && here(to):
			b.In = append(b.In, n)
		}
	}
	for _, m := range slices.Sorted(maps.Keys(sends)) {
		b.Nodes = append(b.Nodes, Node{m, farOff(len(b.Out)), sends[m]})
		for _, n := range sends[m] {
			if _, out := place[n]; !out {
				b.Arrival[n] = Arrival{farOff(len(b.Out)), none, 0}
			}
		}
	}
	for k, out := range b.Out {
		for again := true; again; {
			again = false
			for _, m := range b.Nodes {
				after := func(n int) unit.Duration { // from when m begins to send on a path
					if rest, inside := b.Arrival[n]; inside {
						return sum(f.Least[n], rest.After[k])
					} else if n == out {
						return f.Least[n]
					}
					return unit.Duration(unit.Never)
				}
				least := unit.Duration(unit.Never)
				for _, n := range m.sends {
					least = min(least, after(n))
				}
				m.After[k] = least
				for _, n := range m.sends {
					back, inside := b.Arrival[n^1] // of the frames that come by the same port
					if d := min(after(n), sum(f.Passing[m.Number], least)); inside && d < back.After[k] {
						back.After[k], again = d, true
					}
				}
			}
		}
	}
	for _, m := range b.Nodes {
		var passing []unit.Duration // from an arrival from another part on
		for _, n := range m.sends {
			out, leaves := place[n]
			if !leaves {
				continue
			}
			if passing == nil {
				passing = make([]unit.Duration, len(b.Out))
				for k, d := range m.After {
					passing[k] = sum(f.Passing[m.Number], d)
				}
			}
			b.Arrival[n^1] = Arrival{passing, out, f.Least[n]}
		}
	}
	b.paths = slices.Sorted(maps.Keys(b.Arrival))
	return b
}

// Claim computes the earliest due time of a frame on each path that leads away, by index in Out,
// unless a frame arrives that is not known yet. node returns when a node of the part does
// something, path when the first frame on a path to one is due.
func (b *Boundary) Claim(claims []unit.Time, node, path func(n int) unit.Time) {
	for k := range claims {
		claims[k] = unit.Never
	}
	for _, m := range b.Nodes {
		at := node(m.Number)
		for k, d := range m.After {
			claims[k] = min(claims[k], After(at, d))
		}
	}
	for _, n := range b.paths {
		at := path(n)
		if at == unit.Never {
			continue
		}
		a := b.Arrival[n]
		for k := range claims {
			claims[k] = min(claims[k], After(at, a.At(k)))
		}
	}
}

// farOff returns n durations that never end.
func farOff(n int) []unit.Duration {
	all := make([]unit.Duration, n)
	for i := range all {
		all[i] = unit.Duration(unit.Never)
	}
	return all
}

// sum adds durations that are not negative.
func sum(a, b unit.Duration) unit.Duration {
	if a > unit.Duration(unit.Never)-b {
		return unit.Duration(unit.Never)
	}
	return a + b
}

// After returns the instant that lies d after t.
func After(t unit.Time, d unit.Duration) unit.Time { return unit.Time(sum(unit.Duration(t), d)) }
