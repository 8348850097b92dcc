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
	// To holds, by LID, the port towards it, or NoRoute. A value that is not below the number of
	// ports stands for several ports, each of which leads there: the first such value means the
	// first entry of Equal.
	To    []port.ID
	Equal [][]port.ID
}

// Equals reports whether two tables are the same.
func (r Routes) Equals(other Routes) bool {
	return slices.Equal(r.To, other.To) && slices.EqualFunc(r.Equal, other.Equal, slices.Equal)
}

// Check refuses a table that names a port that the switch does not have.
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

// routes is a table of routes in a compact form: pages of addresses, of which equal ones are stored
// once. In a large fabric a switch reaches most addresses by one port, or by any of the ports that
// lead up, and those of a pod by the same port.
type routes struct {
	ports port.ID
	page  []uint16    // by page of addresses: where it is in pages
	pages []port.ID   // one behind the other
	equal [][]port.ID // groups of which the hash takes a port

	balanced [][]port.ID // groups of which a balancer takes one; then equal is empty
}

// pageSize is the number of addresses in a page.
const pageSize = 32

// newRoutes returns the table of routes of a switch with the given number of ports. Of groups of
// equal ports the hash takes one, or a balancer.
func newRoutes(given Routes, ports int, hash bool) routes {
	r := routes{ports: port.ID(ports), equal: given.Equal}
	if !hash {
		r.equal, r.balanced = nil, given.Equal
	}
	for to := range slices.Chunk(given.To, pageSize) {
		if missing := pageSize - len(to); missing > 0 {
			to = append(slices.Clip(to), slices.Repeat([]port.ID{NoRoute}, missing)...)
		}
		at := len(r.pages) - pageSize // the last ones first: neighbours are most often equal
		for at >= 0 && !slices.Equal(r.pages[at:at+pageSize], to) {
			at -= pageSize
		}
		if at < 0 {
			at = len(r.pages)
			r.pages = append(r.pages, to...)
		}
		r.page = append(r.page, uint16(at/pageSize))
	}
	r.page, r.pages = slices.Clip(r.page), slices.Clip(r.pages)
	return r
}

// forward picks the output for a frame. Of several equal outputs it takes the one that wire.Choose
// returns for the seed of the switch. If a balancer has to choose, ok is false and output is the
// number of the group in balanced; if there is no output at all, that is not the number of a group.
func (r *routes) forward(f *wire.Frame, seed uint64) (output int, ok bool) {
	p := NoRoute
	if k := uint(f.Dst) / pageSize; k < uint(len(r.page)) {
		p = r.pages[uint(r.page[k])*pageSize+uint(f.Dst)%pageSize]
	}
	if p < r.ports {
		return int(p), true
	}
	group := uint(p - r.ports)
	if group >= uint(len(r.equal)) {
		return int(group), false
	}
	equal := r.equal[group]
	return int(equal[wire.Choose(seed, f.Src, f.Dst, f.Entropy(), len(equal))]), true
}
