package draw

import (
	"cmp"
	"math"
	"slices"
)

// Sizes, in pixels.
const (
	letter      = 7.0 // a character of a label
	small       = 6.2 // a character of a note
	gap         = 5.0 // between strands
	between     = 12.0
	switchSide  = 46.0
	boxHeight   = 26.0
	labelHeight = 18.0
	reach       = 92.0 // from a row to the next
	margin      = 28.0
)

// layout gives the nodes their places. It returns the width and the height that they take,
// from (0, 0) on.
func (p *picture) layout() (width, height float64) {
	p.sizes()
	p.columns()
	for rank := 2; rank <= p.ranks; rank++ {
		p.over(rank)
	}
	p.findBeside()
	p.rows()
	p.meet()
	return p.fit()
}

// row returns the nodes of a rank, in order.
func (p *picture) row(rank int) (row []int) {
	for i := range p.nodes {
		if p.nodes[i].rank == rank {
			row = append(row, i)
		}
	}
	return row
}

// level returns the row of a node, counted from the top: endpoints above their
// switches, switches by how far they are from endpoints, endpoints below.
func (p *picture) level(i int) int {
	switch n := &p.nodes[i]; {
	case n.rank > 0:
		return p.ranks - n.rank + 1
	case n.below:
		return p.ranks + 1
	}
	return 0
}

// thickness returns how much room the strands of an edge take side by side.
func (p *picture) thickness(e int) float64 { return p.gap * float64(max(1, len(p.edges[e].strands))) }

// sizes finds how large the nodes are: for their texts, and for the ends of their edges side
// by side.
func (p *picture) sizes() {
	for i := range p.nodes {
		n := &p.nodes[i]
		n.w, n.h = max(letter*float64(len(n.label))+16, 36), boxHeight
		if n.rank > 0 {
			n.w, n.h = max(n.w, small*float64(len(n.note))+16, 72), switchSide
		}
		var up, down, side float64
		for _, e := range n.edges {
			room := p.thickness(e) + between/2
			switch l := p.level(p.other(e, i)) - p.level(i); {
			case l > 0:
				down += room
			case l == 0:
				side += room
				fallthrough // should it have to go around others
			default:
				up += room
			}
		}
		n.w, n.h = max(n.w, up+12, down+12), max(n.h, side+8)
	}
}

// columns places the switches that have endpoints, and these at them, from left to right.
func (p *picture) columns() {
	x, before := 0.0, -1
	for _, l := range p.row(1) {
		n := &p.nodes[l]
		var rows [2][]int // above and below
		var widths [2]float64
		label := 0 // the longest of a link to the switch before
		for _, e := range n.edges {
			o := p.other(e, l)
			if o == before {
				label = max(label, len(p.edges[e].label))
			}
			if p.nodes[o].rank == 0 {
				side := min(p.level(o), 1)
				rows[side] = append(rows[side], o)
				widths[side] += p.slot(o)
			}
		}
		w := max(n.w, widths[0], widths[1])
		n.x = x + w/2
		if before >= 0 {
			b := &p.nodes[before]
			n.x = max(n.x, b.x+(b.w+n.w)/2+max(70, letter*float64(label)+30))
		}
		for side, row := range rows {
			left := n.x - widths[side]/2
			for _, o := range row {
				p.nodes[o].x = left + p.slot(o)/2
				left += p.slot(o)
			}
		}
		x, before = n.x+w/2+2*between, l
	}
}

// slot returns how much room an endpoint takes in its row, with the label of its link, which
// is on the far side of it.
func (p *picture) slot(n int) float64 {
	w := p.nodes[n].w
	for _, e := range p.nodes[n].edges {
		w = max(w, letter*float64(len(p.edges[e].label)))
	}
	return w + between
}

// over places a row of switches: each over the middle of the nodes it joins below. Switches that
// would overlap are side by side, so that the row keeps the mean of its wanted places.
func (p *picture) over(rank int) {
	row := p.row(rank)
	taken, left, right := 0.0, math.Inf(1), math.Inf(-1)
	for _, i := range row {
		n := &p.nodes[i]
		sum, count := 0.0, 0.0
		for _, e := range n.edges {
			if o := &p.nodes[p.other(e, i)]; o.rank == rank-1 {
				sum, count = sum+o.x, count+1
				left, right = min(left, o.x-o.w/2), max(right, o.x+o.w/2)
			}
		}
		n.x = sum / max(count, 1)
		taken += n.w
	}
	apart := min(max((0.9*(right-left)-taken)/float64(len(row)), 3*between), 120)
	slices.SortStableFunc(row, func(i, j int) int {
		return cmp.Compare(math.Round(p.nodes[i].x), math.Round(p.nodes[j].x))
	})
	shift := 0.0
	for k, i := range row {
		n := &p.nodes[i]
		wanted := n.x
		if k > 0 {
			before := &p.nodes[row[k-1]]
			n.x = max(n.x, before.x+(before.w+n.w)/2+apart)
		}
		shift += (wanted - n.x) / float64(len(row))
	}
	for _, i := range row {
		p.nodes[i].x += shift
	}
}

// findBeside finds the edges that join two neighbours in a row.
func (p *picture) findBeside() {
	next := map[int]int{}
	for rank := 1; rank <= p.ranks; rank++ {
		row := p.row(rank)
		slices.SortFunc(row, func(i, j int) int { return cmp.Compare(p.nodes[i].x, p.nodes[j].x) })
		for k := 1; k < len(row); k++ {
			next[row[k-1]] = row[k]
		}
	}
	for i := range p.edges {
		e := &p.edges[i]
		to, ok := next[e.a]
		from, back := next[e.b]
		e.beside = ok && to == e.b || back && from == e.a
	}
}

// rows gives each row its height: the further links between two rows go to the side, the
// further these are apart, so that links are steep enough.
func (p *picture) rows() {
	tall, aside := make([]float64, p.ranks+2), make([]float64, p.ranks+2)
	for i := range p.nodes {
		tall[p.level(i)] = max(tall[p.level(i)], p.nodes[i].h)
	}
	for i := range p.edges {
		e := &p.edges[i]
		if a, b := p.level(e.a), p.level(e.b); a != b {
			aside[max(a, b)] = max(aside[max(a, b)], math.Abs(p.nodes[e.a].x-p.nodes[e.b].x))
		}
	}
	y, at := 0.0, make([]float64, p.ranks+2)
	for l := range at {
		if l > 0 && tall[l-1] > 0 {
			y += reach + min(max(aside[l]-250, 0)/6, 300)
		}
		at[l] = y + tall[l]/2
		y += tall[l]
	}
	for i := range p.nodes {
		p.nodes[i].y = at[p.level(i)]
	}
}

// meet finds where each edge meets its nodes: at the sides that face each other, side by side
// in the order of the other ends.
func (p *picture) meet() {
	for i := range p.nodes {
		n := &p.nodes[i]
		var sides [4][]int // up, down, left, right
		for _, e := range n.edges {
			o, side := &p.nodes[p.other(e, i)], 0
			switch {
			case p.edges[e].beside && o.x < n.x:
				side = 2
			case p.edges[e].beside:
				side = 3
			case o.y > n.y:
				side = 1
			}
			sides[side] = append(sides[side], e)
		}
		for side, edges := range sides {
			slices.SortStableFunc(edges,
				func(a, b int) int { return cmp.Compare(p.nodes[p.other(a, i)].x, p.nodes[p.other(b, i)].x) })
			more := between / 2
			if side >= 2 {
				more = between + 6
			}
			at := 0.0
			for _, e := range edges {
				at -= (p.thickness(e) + more) / 2
			}
			for _, e := range edges {
				room := p.thickness(e) + more
				x, y := n.x+at+room/2, n.y+n.h*(float64(side)-0.5)
				if side >= 2 {
					x, y = n.x+n.w*(float64(side)-2.5), n.y+at+room/2
				}
				at += room
				if p.edges[e].a == i {
					p.edges[e].ax, p.edges[e].ay = x, y
				} else {
					p.edges[e].bx, p.edges[e].by = x, y
				}
			}
		}
	}
}

// fit moves everything, with labels and links that go over others, to the right of and below
// (0, 0). It returns how large it is.
func (p *picture) fit() (width, height float64) {
	left, right, top, bottom := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for i := range p.nodes {
		n := &p.nodes[i]
		w, above := n.w, 0.0
		if n.rank == 0 {
			w = p.slot(i) - between
			above = labelHeight
		}
		left, right = min(left, n.x-w/2), max(right, n.x+w/2)
		top, bottom = min(top, n.y-n.h/2-above), max(bottom, n.y+n.h/2+labelHeight)
	}
	for i := range p.edges {
		if e := &p.edges[i]; p.level(e.a) == p.level(e.b) && !e.beside {
			_, y, _ := p.curve(i, 0).at(0.5)
			top = min(top, y-p.thickness(i)/2-2-labelHeight)
		}
	}
	for _, b := range p.labelBoxes() {
		left, right = min(left, b.x-b.w/2), max(right, b.x+b.w/2)
	}
	for i := range p.nodes {
		p.nodes[i].x, p.nodes[i].y = p.nodes[i].x-left, p.nodes[i].y-top
	}
	for i := range p.edges {
		e := &p.edges[i]
		e.ax, e.ay, e.bx, e.by = e.ax-left, e.ay-top, e.bx-left, e.by-top
	}
	return right - left, bottom - top
}

// other returns the node at the other end of an edge.
func (p *picture) other(edge, n int) int {
	if p.edges[edge].a == n {
		return p.edges[edge].b
	}
	return p.edges[edge].a
}
