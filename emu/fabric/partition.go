package fabric

import (
	"cmp"
	"math"
	"slices"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Partition divides the nodes into a number of parts, and returns the part of each node. The parts
// get about the same work, and few links, above all few that many flows cross, lead from one part
// to another. A switch and its endpoints stay together, unless they are more than a part should
// have: then they are shared one by one. With fewer of these than parts some parts are empty. The
// same fabric gives the same parts, always.
//
// The work of a node is counted as its ports, which repeat their flow control, and the
// flows that cross them.
func (f *Fabric) Partition(parts int) []int {
	p := &partitioner{has: make([]float64, parts), of: make([]int, len(f.Nodes))}
	p.group(f)
	p.grow()
	for range refinements {
		if !p.refine() {
			break
		}
	}
	of := make([]int, len(f.Nodes))
	for m, u := range p.of {
		of[m] = p.part[u]
	}
	return of
}

const (
	// refinements is how often at most all units are looked at for a better part.
	refinements = 8
	// slack is how much more than its share a part may have.
	slack = 1.1
	// perFlow is the work of a flow that crosses a port, relative to the port itself.
	perFlow = 2
)

// partitioner shares units, each a node or a switch with its endpoints, between parts.
type partitioner struct {
	share float64   // of the work, that each part should have
	of    []int     // by node: its unit
	work  []float64 // by unit
	near  [][]bond  // by unit
	part  []int     // by unit
	has   []float64 // by part: its work
}

// bond joins a unit to another one.
type bond struct {
	unit int
	cost float64 // of cutting it
}

// group makes the units: switches with their endpoints, or nodes one by one where such a
// unit is too much for a part.
func (p *partitioner) group(f *Fabric) {
	cost, work, all := f.work()
	p.share = all / float64(len(p.has))
	together := make([]float64, len(f.Nodes)) // the work of a switch with its endpoints
	for m := range f.Nodes {
		together[f.Home(m)] += work[m]
	}
	unit := make([]int, len(f.Nodes)) // by switch or node that a unit is made around, and one more
	for m := range f.Nodes {
		around := f.Home(m)
		if together[around] > slack*p.share {
			around = m
		}
		if unit[around] == 0 {
			p.work = append(p.work, 0)
			unit[around] = len(p.work)
		}
		p.of[m] = unit[around] - 1
		p.work[p.of[m]] += work[m]
	}
	p.near = make([][]bond, len(p.work))
	for w := range f.Wires {
		a, b := p.of[f.Wires[w].Ends[0].Node], p.of[f.Wires[w].Ends[1].Node]
		if a != b {
			p.join(a, b, cost[w])
			p.join(b, a, cost[w])
		}
	}
}

// work returns the cost of cutting each wire, which is it and the flows that cross it, the work of
// each node, and all of it.
func (f *Fabric) work() (cost, work []float64, all float64) {
	cost, work = make([]float64, len(f.Wires)), make([]float64, len(f.Nodes))
	for w := range f.Wires {
		cost[w] = 1
	}
	for i := range f.Flows {
		for _, h := range f.Flows[i].Path.All() {
			cost[h.Wire] += perFlow
		}
	}
	for w := range f.Wires {
		for _, end := range f.Wires[w].Ends {
			work[end.Node] += cost[w]
			all += cost[w]
		}
	}
	return cost, work, all
}

// join adds to the cost of cutting a unit from another one.
func (p *partitioner) join(a, b int, cost float64) {
	for i := range p.near[a] {
		if p.near[a][i].unit == b {
			p.near[a][i].cost += cost
			return
		}
	}
	p.near[a] = append(p.near[a], bond{b, cost})
}

// grow makes the parts one after the other, each from a unit on: next comes the unit of whose
// bonds the largest share leads into the part already.
func (p *partitioner) grow() {
	p.part = slices.Repeat([]int{-1}, len(p.work))
	all := make([]float64, len(p.work))  // the cost of a unit's bonds
	into := make([]float64, len(p.work)) // and of those into the part that grows
	for u := range p.near {
		for _, b := range p.near[u] {
			all[u] += b.cost
		}
	}
	left := len(p.work)
	for k := range p.has {
		clear(into)
		last := k == len(p.has)-1
		for left > 0 {
			best := -1
			for u := range p.part {
				if p.part[u] < 0 && (best < 0 || into[u]*all[best] > into[best]*all[u]) {
					best = u
				}
			}
			// The last unit of a part is taken if that comes nearer to its share, or it has none.
			if !last && p.has[k] > 0 && p.has[k]+p.work[best]/2 > p.share {
				break
			}
			p.part[best] = k
			p.has[k] += p.work[best]
			left--
			for _, b := range p.near[best] {
				into[b.unit] += b.cost
			}
		}
	}
}

// refine moves units to parts to which they are joined more than to their own, as far as
// these have room, those first that gain the most, and reports whether it has moved any.
func (p *partitioner) refine() (moved bool) {
	gains, order := make([]float64, len(p.part)), make([]int, len(p.part))
	for u := range order {
		best := p.better(u)
		order[u], gains[u] = u, p.bound(u, best)-p.bound(u, p.part[u])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gains[b], gains[a]) })
	for _, u := range order {
		if own, best := p.part[u], p.better(u); best != own {
			p.part[u] = best
			p.has[own] -= p.work[u]
			p.has[best] += p.work[u]
			moved = true
		}
	}
	return moved
}

// bound returns the cost of cutting a unit from a part.
func (p *partitioner) bound(u, part int) (cost float64) {
	for _, b := range p.near[u] {
		if p.part[b.unit] == part {
			cost += b.cost
		}
	}
	return cost
}

// better returns the part with room to which a unit is joined the most: its own, if none is
// better, or if it is alone there.
func (p *partitioner) better(u int) int {
	own := p.part[u]
	best, most := own, p.bound(u, own)
	if p.has[own] <= p.work[u] {
		return own
	}
	for k := range p.has {
		if k != own && p.has[k]+p.work[u] <= slack*p.share {
			if cost := p.bound(u, k); cost > most {
				best, most = k, cost
			}
		}
	}
	return best
}

// Between estimates the number of frame-hops of the whole fabric in the shortest time from a
// part to another one: the work that parts can do at the same time before they must exchange
// messages. Flows are assumed to have equal shares of each link, and no more than they offer.
func (f *Fabric) Between(parts []int) float64 {
	least, crossing := unit.Duration(f.Scenario.Model.Duration), make([]float64, 2*len(f.Wires))
	for w := range f.Wires {
		ends := &f.Wires[w].Ends
		if parts[ends[0].Node] != parts[ends[1].Node] {
			least = min(least, f.Least(w, 0), f.Least(w, 1))
		}
	}
	for i := range f.Flows {
		for _, h := range f.Flows[i].Path.All() {
			crossing[2*h.Wire+h.From]++
		}
	}
	hops := 0. // a second
	for i := range f.Flows {
		rate, length := math.Inf(1), 0.
		for _, h := range f.Flows[i].Path.All() {
			length++
			rate = min(rate, f.Wires[h.Wire].Link.Rate.BytesPerSecond()/crossing[2*h.Wire+h.From])
		}
		if offered := f.Flows[i].Rate; offered > 0 {
			rate = min(rate, offered.BytesPerSecond())
		}
		hops += (1 + f.answers(&f.Flows[i])) * length * rate / float64(max(f.Flows[i].Packet, 1))
	}
	return hops * least.Seconds()
}

// answers returns how many hops of answers a hop of a frame has. On InfiniBand an ACK and credit
// share frames.
func (f *Fabric) answers(flow *Flow) float64 {
	switch {
	case f.Frame(flow).Family == wire.InfiniBand, flow.Transport.Acks():
		return 1
	case flow.Transport.Streams(): // an ACK for every second packet
		return 0.5
	}
	return 0
}
