package drive

import "fabemu/wire/unit"

// border is where a part of a fabric meets the others: the paths that come from there and that
// lead there, by number, in ascending order; and how long it takes, at the least, until what
// happens in the part can matter at the other end of each path that leads away.
type border struct {
	in, out []int
	machine [][]unit.Duration // by machine of the part and place in out: from when it does something
	arrival map[int][]unit.Duration
}

// newBorder returns that of the machines that are here.
func newBorder(f *Fabric, here func(m int) bool) *border {
	b := &border{machine: make([][]unit.Duration, len(f.Passing)), arrival: map[int][]unit.Duration{}}
	leaving := make([][]int, len(f.Passing)) // the paths that begin at each machine
	for n := range 2 * len(f.Wires) {
		from, to := f.Wires[n/2][n%2].Machine, f.Wires[n/2][1-n%2].Machine
		if here(from) {
			leaving[from] = append(leaving[from], n)
		}
		switch {
		case here(from) && !here(to):
			b.out = append(b.out, n)
		case !here(from) && here(to):
			b.in = append(b.in, n)
		}
		if here(to) {
			b.arrival[n] = nil
		}
	}
	for n := range b.arrival {
		b.arrival[n] = farOff(len(b.out))
	}
	for m := range leaving {
		if here(m) {
			b.machine[m] = farOff(len(b.out))
		}
	}
	for k, out := range b.out {
		for again := true; again; {
			again = false
			for m, paths := range leaving {
				if len(paths) == 0 {
					continue
				}
				after := func(n int) unit.Duration { // from when m begins to send on a path
					switch rest := b.arrival[n]; {
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
				b.machine[m][k] = least
				for _, n := range paths {
					back := b.arrival[n^1] // of the frames that come by the same port
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

// after returns the instant that lies d after t.
func after(t unit.Time, d unit.Duration) unit.Time { return unit.Time(sum(unit.Duration(t), d)) }
