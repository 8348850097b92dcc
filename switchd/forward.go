package switchd

import (
	"fmt"
	"slices"

	"fabemu/wire"
	"fabemu/wire/port"
)

// NoRoute is the value in Routes.To for a destination that cannot be reached.
const NoRoute port.ID = 0xFFFF

// Routes is a table of routes as the configuration gives it.
type Routes struct {
	// To holds, by LID, the port towards it, or NoRoute. A value that is not below the number of ports stands for
	// several ports, each of which leads there: the first such value means the first entry of Equal.
	To    []port.ID
	Equal [][]port.ID
}

// Equals reports whether two tables are the same.
func (r Routes) Equals(other Routes) bool {
	return slices.Equal(r.To, other.To) && slices.EqualFunc(r.Equal, other.Equal, slices.Equal)
}

// Check refuses a table that names a port that a switch with so many ports does not have.
func (r *Routes) Check(ports int) error {
	if ports+len(r.Equal) > int(NoRoute) {
		return fmt.Errorf("%d ports, and %d choices among them, are more than a table can name", ports, len(r.Equal))
	}
	for lid, p := range r.To {
		if p != NoRoute && int(p) >= ports+len(r.Equal) {
			return fmt.Errorf("the route to LID %d is port %d; there are %d ports", lid, p, ports)
		}
	}
	for _, equal := range r.Equal {
		if len(equal) == 0 || slices.Max(equal) >= port.ID(ports) {
			return fmt.Errorf("ports %v are equal; there are %d ports", equal, ports)
		}
	}
	return nil
}

// routes is a table of routes in a compact form. A switch at the edge of a large fabric reaches most of it by one
// port, or by any of the ports that lead up, and its own endpoints have consecutive addresses. So the table only
// stores the range from the first to the last address that is reached differently.
type routes struct {
	n     int32 // the number of addresses, from 0
	base  int32 // the first address that is stored
	most  port.ID
	ports port.ID
	other []port.ID
	equal [][]port.ID
}

// newRoutes returns the table of routes of a switch with the given number of ports.
func newRoutes(given Routes, ports int) routes {
	entries := ports + len(given.Equal)
	times := make([]int, entries+1) // the last entry is for NoRoute
	r := routes{n: int32(len(given.To)), most: NoRoute, ports: port.ID(ports), equal: given.Equal}
	for _, p := range given.To {
		k := min(int(p), entries)
		if times[k]++; times[k] > times[min(int(r.most), entries)] {
			r.most = p
		}
	}
	for lid, p := range given.To {
		if p == r.most {
			continue
		}
		if r.other == nil {
			r.base = int32(lid)
		}
		for len(r.other) < lid-int(r.base) {
			r.other = append(r.other, r.most)
		}
		r.other = append(r.other, p)
	}
	r.other = slices.Clip(r.other)
	return r
}

// forward picks the output for a frame. ok is false if there is none. Of several equal outputs it takes the one that
// wire.Choose returns for the seed of the switch.
func (r *routes) forward(f *wire.Frame, seed uint64) (output int, ok bool) {
	p := r.most
	if i := uint(f.Dst) - uint(r.base); i < uint(len(r.other)) {
		p = r.other[i]
	}
	if p < r.ports {
		return int(p), int32(f.Dst) < r.n
	}
	if p == NoRoute || int32(f.Dst) >= r.n {
		return 0, false
	}
	equal := r.equal[p-r.ports]
	return int(equal[wire.Choose(seed, f.Src, f.Dst, f.Entropy(), len(equal))]), true
}
