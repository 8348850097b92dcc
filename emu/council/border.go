package council

import (
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Fabric is the machines that parts share, and the least times that things take there: the ground on
// which promises rest.
type Fabric struct {
	Wires   [][2]port.End
	Least   []unit.Duration // by path: from the start of a frame until it is due
	Passing []unit.Duration // by machine: from an arrival until it sends by another port because of it
}

// Border is where a part of a fabric meets the others: the paths that come from there and that
// lead there, by number, in ascending order; and how long it takes, at the least, until an
// event in the part can matter at the other end of each path that leads away.
type Border struct {
	In, Out []int
	Machine [][]unit.Duration // by machine of the part and place in Out: from when it does something
	Arrival map[int]Arrival   // by path that leads to a machine of the part
}

// Arrival is how long it takes, at the least, from when a frame is due at a machine until it can matter at
// the other end of a path that leads away. The machines of a part share After among the paths that come from
// other parts: of these, only the way back by the same port is shorter.
type Arrival struct {
	After []unit.Duration // by place in Out
	Back  int             // the place of the path that leads back by the same port; none: it stays in the part
	Reply unit.Duration   // by that path
}

// none is the place of a path that is not there.
const none = -1

// At returns how long it takes until the path at a place in Out.
func (a *Arrival) At(k int) unit.Duration {
	if k == a.Back {
		return min(a.After[k], a.Reply)
	}
	return a.After[k]
}

// NewBorder returns the border of the machines that are here.
func NewBorder(f Fabric, here func(m int) bool) *Border {
	b := &Border{Machine: make([][]unit.Duration, len(f.Passing)), Arrival: map[int]Arrival{}}
	leaving := make([][]int, len(f.Passing)) // the paths that begin at each machine
	place := map[int]int{}                   // in Out, of each path
	for n := range 2 * len(f.Wires) {
		from, to := f.Wires[n/2][n%2].Machine, f.Wires[n/2][1-n%2].Machine
		if here(from) {
			leaving[from] = append(leaving[from], n)
		}
		switch {
		case here(from) && !here(to):
			place[n] = len(b.Out)
			b.Out = append(b.Out, n)
		case !here(from) && here(to):
			b.In = append(b.In, n)
		}
	}
	for m, paths := range leaving {
		if !here(m) {
			continue
		}
		b.Machine[m] = farOff(len(b.Out))
		for _, n := range paths {
			if _, out := place[n]; !out {
				b.Arrival[n] = Arrival{farOff(len(b.Out)), none, 0}
			}
		}
	}
	for k, out := range b.Out {
		for again := true; again; {
			again = false
			for m, paths := range leaving {
				after := func(n int) unit.Duration { // from when m begins to send on a path
					if rest, inside := b.Arrival[n]; inside {
						return sum(f.Least[n], rest.After[k])
					} else if n == out {
						return f.Least[n]
					}
					return unit.Duration(unit.Never)
				}
				least := unit.Duration(unit.Never)
				for _, n := range paths {
					least = min(least, after(n))
				}
				if len(paths) > 0 {
					b.Machine[m][k] = least
				}
				for _, n := range paths {
					back, inside := b.Arrival[n^1] // of the frames that come by the same port
					if d := min(after(n), sum(f.Passing[m], least)); inside && d < back.After[k] {
						back.After[k], again = d, true
					}
				}
			}
		}
	}
	passing := map[int][]unit.Duration{} // by machine, from an arrival on
	for _, n := range b.In {
		m := f.Wires[n/2][1-n%2].Machine
		if passing[m] == nil {
			passing[m] = make([]unit.Duration, len(b.Out))
			for k, d := range b.Machine[m] {
				passing[m][k] = sum(f.Passing[m], d)
			}
		}
		b.Arrival[n] = Arrival{passing[m], place[n^1], f.Least[n^1]}
	}
	return b
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
