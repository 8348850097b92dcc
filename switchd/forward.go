package switchd

import (
	"slices"

	"fabemu/wire"
	"fabemu/wire/port"
)

// NoRoute stands in Config.Routes for a destination that cannot be reached.
const NoRoute port.ID = 0xFFFF

// routes is a table of routes. A switch at the edge of a large fabric reaches most of it
// by one port, and its own endpoints have addresses side by side: only from the first to
// the last that is reached otherwise is anything written down.
type routes struct {
	n     int // addresses, from 0
	most  port.ID
	base  int // the first of others
	other []port.ID
}

// newRoutes returns the table of routes that are given by LID, of a switch with so many
// ports.
func newRoutes(by []port.ID, ports int) routes {
	times := make([]int, ports+1) // the last one is for NoRoute
	r := routes{n: len(by), most: NoRoute}
	for _, p := range by {
		k := min(int(p), ports)
		if times[k]++; times[k] > times[min(int(r.most), ports)] {
			r.most = p
		}
	}
	for lid, p := range by {
		if p == r.most {
			continue
		}
		if r.other == nil {
			r.base = lid
		}
		for len(r.other) < lid-r.base {
			r.other = append(r.other, r.most)
		}
		r.other = append(r.other, p)
	}
	r.other = slices.Clip(r.other)
	return r
}

// forward picks the output for a destination; ok is false when there is none.
func (r *routes) forward(dst wire.LID) (output int, ok bool) {
	p := r.most
	if i := int(dst) - r.base; i >= 0 && i < len(r.other) {
		p = r.other[i]
	}
	return int(p), p != NoRoute && int(dst) < r.n
}
