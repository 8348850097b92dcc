package graph

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

// layout gives the nodes their places. It returns the width and the height that
// they take, from (0, 0) on.
func (p *picture) layout() (width, height float64) {
	p.sizes()
	leaves := p.row(1)
	width = p.columns(leaves)
	for rank := 2; rank <= p.ranks; rank++ {
		width = max(width, p.over(p.row(rank), rank, width))
	}
	height = p.rows()
	p.center(width)
	p.ports()
	return width, height + p.lower()
}

// lower moves everything down until the links that go over others in the topmost
// row, and their labels, are below 0. It returns by how much.
func (p *picture) lower() float64 {
	top := 0.0
	for i := range p.edges {
		e := &p.edges[i]
		if p.nodes[e.a].rank != p.nodes[e.b].rank || p.adjacent(i) {
			continue
		}
		_, y, _ := p.way(i, 0).at(0.5)
		y -= p.thickness(i)/2 + 2
		if e.label != "" {
			y -= labelHeight
		}
		top = min(top, y)
	}
	for i := range p.nodes {
		p.nodes[i].y -= top
	}
	for i := range p.edges {
		p.edges[i].ay -= top
		p.edges[i].by -= top
	}
	return -top
}

// center moves everything to the right of 0.
func (p *picture) center(width float64) {
	least, most := math.Inf(1), math.Inf(-1)
	for i := range p.nodes {
		n := &p.nodes[i]
		least, most = min(least, n.x-n.w/2), max(most, n.x+n.w/2)
	}
	shift := (width - least - most) / 2
	for i := range p.nodes {
		p.nodes[i].x += shift
	}
}

// row returns the switches of a rank, in order.
func (p *picture) row(rank int) []int {
	var row []int
	for i := range p.nodes {
		if p.nodes[i].rank == rank {
			row = append(row, i)
		}
	}
	return row
}

// sizes finds how large the nodes are: for their texts, and for the ends of their
// edges side by side.
func (p *picture) sizes() {
	for i := range p.nodes {
		n := &p.nodes[i]
		n.w, n.h = letter*float64(len(n.label))+16, boxHeight
		if n.rank == 0 {
			n.w = max(n.w, 36)
			for _, e := range n.edges {
				n.w = max(n.w, p.thickness(e)+8)
			}
			continue
		}
		n.w, n.h = max(n.w, small*float64(len(n.note))+16, 72), switchSide
		up, down, side := 0.0, 0.0, 0.0
		for _, e := range n.edges {
			other := &p.nodes[p.other(e, i)]
			switch room := p.thickness(e) + between/2; {
			case other.rank == n.rank:
				side = max(side, room)
				up += room // should it have to go around others
			case other.rank > n.rank || other.rank == 0 && !other.below:
				up += room
			default:
				down += room
			}
		}
		n.w = max(n.w, up+12, down+12)
		n.h = max(n.h, side+8)
	}
}

// thickness returns how much room the strands of an edge take side by side.
func (p *picture) thickness(e int) float64 {
	return gap * float64(max(1, len(p.edges[e].strands)))
}

// columns places the switches that have endpoints, and these at them, from left
// to right. It returns how wide that is.
func (p *picture) columns(leaves []int) float64 {
	x := 0.0
	before := -1
	for _, l := range leaves {
		n := &p.nodes[l]
		rows := [2][]int{}
		widths := [2]float64{}
		for _, e := range n.edges {
			o := p.other(e, l)
			if p.nodes[o].rank != 0 {
				continue
			}
			side := 0
			if p.nodes[o].below {
				side = 1
			}
			rows[side] = append(rows[side], o)
			widths[side] += p.slot(o)
		}
		w := max(n.w, widths[0], widths[1])
		at := x + w/2
		if before >= 0 { // the label of a link between neighbours has room
			least := p.nodes[before].x + p.nodes[before].w/2 + n.w/2 + max(70, letter*float64(p.widest(before, l))+30)
			at = max(at, least)
		}
		n.x = at
		for side, row := range rows {
			left := at - widths[side]/2
			for _, o := range row {
				p.nodes[o].x = left + p.slot(o)/2
				left += p.slot(o)
			}
		}
		x = at + w/2 + 2*between
		before = l
	}
	return x - 2*between
}

// widest returns the length of the longest label between two nodes.
func (p *picture) widest(a, b int) int {
	longest := 0
	for _, e := range p.nodes[a].edges {
		if p.other(e, a) == b {
			longest = max(longest, len(p.edges[e].label))
		}
	}
	return longest
}

// slot returns how much room an endpoint takes in its row, with the label of its
// link, which stands on the far side of it.
func (p *picture) slot(n int) float64 {
	w := p.nodes[n].w
	for _, e := range p.nodes[n].edges {
		w = max(w, letter*float64(len(p.edges[e].label)))
	}
	return w + between
}

// over places a row of switches, each over the middle of what it joins below, and
// at some distance when there is room. It returns how wide the row is.
func (p *picture) over(row []int, rank int, width float64) float64 {
	taken := 0.0
	for _, i := range row {
		taken += p.nodes[i].w
	}
	apart := min(max((0.7*width-taken)/float64(len(row)), 3*between), 120)
	for _, i := range row {
		sum, count := 0.0, 0.0
		for _, e := range p.nodes[i].edges {
			if o := &p.nodes[p.other(e, i)]; o.rank == rank-1 {
				sum, count = sum+o.x, count+1
			}
		}
		p.nodes[i].x = sum / max(count, 1)
	}
	slices.SortStableFunc(row, func(i, j int) int { return cmp.Compare(math.Round(p.nodes[i].x), math.Round(p.nodes[j].x)) })
	// Those that want the same place share it to its left and right: each cluster of
	// switches that touch stands over the mean of what its members want.
	type cluster struct{ first, last, sum, width float64 }
	var all []cluster
	var members []int
	for _, i := range row {
		n := &p.nodes[i]
		w := n.w + apart
		all = append(all, cluster{sum: n.x, first: n.x - w/2, last: n.x + w/2, width: w})
		members = append(members, 1)
		for k := len(all) - 1; k > 0 && all[k-1].last > all[k].first; k-- {
			a, b := all[k-1], all[k]
			joint := cluster{sum: a.sum + b.sum, width: a.width + b.width}
			members[k-1] += members[k]
			middle := joint.sum / float64(members[k-1])
			joint.first, joint.last = middle-joint.width/2, middle+joint.width/2
			all[k-1], all, members = joint, all[:k], members[:k]
		}
	}
	i := 0
	wide := 0.0
	for k, c := range all {
		at := c.first
		for range members[k] {
			n := &p.nodes[row[i]]
			n.x = at + (n.w+apart)/2
			at += n.w + apart
			i++
		}
		wide = max(wide, c.last-c.first)
	}
	return wide
}

// step returns how far two rows are apart: the further its links go to the side,
// the more, so that they are steep enough.
func (p *picture) step(upper, lower int) float64 {
	aside := 0.0
	for _, e := range p.edges {
		a, b := &p.nodes[e.a], &p.nodes[e.b]
		if max(a.rank, b.rank) == upper && min(a.rank, b.rank) == lower {
			aside = max(aside, math.Abs(a.x-b.x))
		}
	}
	return reach + min(max(aside-250, 0)/6, 300)
}

// rows gives every row its height, and returns how high all of them are.
func (p *picture) rows() float64 {
	above := false
	for i := range p.nodes {
		above = above || p.nodes[i].rank == 0 && !p.nodes[i].below
	}
	tall := func(rank int) float64 {
		h := 0.0
		for i := range p.nodes {
			if p.nodes[i].rank == rank {
				h = max(h, p.nodes[i].h)
			}
		}
		return h
	}
	y := 0.0
	if above {
		y = labelHeight + boxHeight + p.step(1, 0)
	}
	ofRank := make([]float64, p.ranks+1)
	for rank := p.ranks; rank > 0; rank-- {
		ofRank[rank] = y + tall(rank)/2
		y += tall(rank) + p.step(rank, rank-1)
	}
	bottom := 0.0
	for i := range p.nodes {
		n := &p.nodes[i]
		switch {
		case n.rank > 0:
			n.y = ofRank[n.rank]
		case n.below:
			n.y = y + boxHeight/2
		default:
			n.y = labelHeight + boxHeight/2
		}
		bottom = max(bottom, n.y+n.h/2)
	}
	return bottom + labelHeight
}

// ports finds where each edge meets its nodes: at the sides that face each other,
// side by side in the order of the other ends.
func (p *picture) ports() {
	for i := range p.nodes {
		n := &p.nodes[i]
		var up, down []int
		for _, e := range n.edges {
			o := &p.nodes[p.other(e, i)]
			switch {
			case o.rank == n.rank && p.adjacent(e):
				side := 1.0
				if o.x < n.x {
					side = -1
				}
				p.meet(e, i, n.x+side*n.w/2, n.y)
			case o.y < n.y || o.rank == n.rank:
				up = append(up, e)
			default:
				down = append(down, e)
			}
		}
		for side, edges := range [2][]int{up, down} {
			p.byX(i, edges)
			total := 0.0
			for _, e := range edges {
				total += p.thickness(e) + between/2
			}
			at := n.x - total/2
			for _, e := range edges {
				room := p.thickness(e) + between/2
				p.meet(e, i, at+room/2, n.y+[2]float64{-1, 1}[side]*n.h/2)
				at += room
			}
		}
	}
	p.parallel()
}

// parallel sets links side by side that join the same neighbours.
func (p *picture) parallel() {
	type pair struct{ a, b int }
	joined := map[pair][]int{}
	var order []pair
	for i := range p.edges {
		e := &p.edges[i]
		if !p.adjacent(i) {
			continue
		}
		k := pair{min(e.a, e.b), max(e.a, e.b)}
		if joined[k] == nil {
			order = append(order, k)
		}
		joined[k] = append(joined[k], i)
	}
	for _, k := range order {
		all := joined[k]
		total := 0.0
		for _, i := range all {
			total += p.thickness(i) + between + 6
		}
		at := -total / 2
		for _, i := range all {
			room := p.thickness(i) + between + 6
			if len(all) > 1 {
				p.edges[i].ay += at + room/2
				p.edges[i].by += at + room/2
			}
			at += room
		}
	}
}

// meet sets where an edge meets a node.
func (p *picture) meet(edge, n int, x, y float64) {
	if e := &p.edges[edge]; e.a == n {
		e.ax, e.ay = x, y
	} else {
		e.bx, e.by = x, y
	}
}

// adjacent reports whether an edge joins two switches side by side in a row.
func (p *picture) adjacent(edge int) bool {
	e := &p.edges[edge]
	a, b := &p.nodes[e.a], &p.nodes[e.b]
	if a.rank != b.rank {
		return false
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.rank == a.rank && i != e.a && i != e.b && n.x > min(a.x, b.x) && n.x < max(a.x, b.x) {
			return false
		}
	}
	return true
}
