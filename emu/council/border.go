package council

import (
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Fabric is the machines that parts share, and the least times that things take there: what promises
// rest on.
type Fabric struct {
	Wires   [][2]port.End
	Least   []unit.Duration // by path: from the start of a frame until it is due
	Passing []unit.Duration // by machine: from an arrival until it sends by another port because of it
}

// Border is where a part of a fabric meets the others: the paths that come from there and that
// lead there, by number, in ascending order; and how long it takes, at the least, until what
// happens in the part can matter at the other end of each path that leads away.
type Border struct {
	In, Out []int
	Machine [][]unit.Duration       // by machine of the part and place in Out: from when it does something
	Arrival map[int][]unit.Duration // by path that leads to a machine of the part, and place in Out
}

// NewBorder returns the border of the machines that are here.
func NewBorder(f Fabric, here func(m int) bool) *Border {
	b := &Border{Machine: make([][]unit.Duration, len(f.Passing)), Arrival: map[int][]unit.Duration{}}
	leaving := make([][]int, len(f.Passing)) // the paths that begin at each machine
	for n := range 2 * len(f.Wires) {
		from, to := f.Wires[n/2][n%2].Machine, f.Wires[n/2][1-n%2].Machine
		if here(from) {
			leaving[from] = append(leaving[from], n)
		}
		switch {
		case here(from) && !here(to):
			b.Out = append(b.Out, n)
		case !here(from) && here(to):
			b.In = append(b.In, n)
		}
		if here(to) {
			b.Arrival[n] = nil
		}
	}
	for n := range b.Arrival {
		b.Arrival[n] = farOff(len(b.Out))
	}
	for m := range leaving {
		if here(m) {
			b.Machine[m] = farOff(len(b.Out))
		}
	}
	for k, out := range b.Out {
		for again := true; again; {
			again = false
			for m, paths := range leaving {
				if len(paths) == 0 {
					continue
				}
				after := func(n int) unit.Duration { // from when m begins to send on a path
					switch rest := b.Arrival[n]; {
					case n == out:
						return f.Least[n]
					case rest != nil:
						return sum(f.Least[n], rest[k])
					}
					return unit.Duration(unit.Never)
				}
				least := unit.Duration(unit.Never)
				for _, n := range paths {
					least = min(least, after(n))
				}
				b.Machine[m][k] = least
				for _, n := range paths {
					back := b.Arrival[n^1] // of the frames that come by the same port
					if d := min(after(n), sum(f.Passing[m], least)); d < back[k] {
						back[k], again = d, true
					}
				}
			}
		}
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
