package paths

import (
	"slices"
	"strings"
)

// Graph is a fabric: machines, of which the first are switches, and links.
type Graph struct {
	rank     []int    // for each machine, the place of its name among all names
	switches int      // how many of the machines are switches
	ends     [][]Step // for each machine, its links in order and where they lead
	tables   map[int]*table
	fixed    map[[2]int]Step // from a machine to another, whatever is the shortest
}

// Step is a link on a way, and the machine that it leads to.
type Step struct {
	Link int // index
	To   int // machine
}

// table says how the switches reach a destination.
type table struct {
	hops []int  // for each switch, how many links lie before it; far where there is no way
	next []Step // for each switch but the destination and those without a way
}

const far = int(^uint(0) >> 1)

// New returns the graph of machines, the first of which are switches, and of the
// links between them.
func New(names []string, switches int, links [][2]int) *Graph {
	g := &Graph{rank: make([]int, len(names)), switches: switches, ends: make([][]Step, len(names)), tables: map[int]*table{}}
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	for place, machine := range order {
		g.rank[machine] = place
	}
	for i, l := range links {
		g.ends[l[0]] = append(g.ends[l[0]], Step{i, l[1]})
		g.ends[l[1]] = append(g.ends[l[1]], Step{i, l[0]})
	}
	return g
}

// Next returns the first step on the way from a machine to another. It returns
// false when there is no way, or none to go.
func (g *Graph) Next(from, dst int) (Step, bool) {
	if from == dst {
		return Step{}, false
	}
	if s, ok := g.fixed[[2]int{from, dst}]; ok {
		return s, true
	}
	// What is at the end of one link is reached as the switch before it is, so
	// that one table does for all endpoints of a switch.
	root := dst
	if dst >= g.switches && len(g.ends[dst]) == 1 && g.ends[dst][0].To < g.switches {
		root = g.ends[dst][0].To
		if from == root {
			return Step{g.ends[dst][0].Link, dst}, true
		}
	}
	t := g.tables[root]
	if t == nil {
		t = g.find(root)
		g.tables[root] = t
	}
	if from < g.switches {
		return t.next[from], t.hops[from] != far
	}
	best, hops := Step{}, far
	for _, s := range g.ends[from] {
		h := far
		switch {
		case s.To == dst:
			h = 0
		case s.To < g.switches:
			h = t.hops[s.To]
		}
		if h < hops || h == hops && h != far && g.rank[s.To] < g.rank[best.To] {
			best, hops = s, h
		}
	}
	return best, hops != far
}

// Fix sets the first step on the way from a machine to another. It counts for ways
// that lead over that machine too, so that they may go round without end.
func (g *Graph) Fix(from, dst int, s Step) {
	if g.fixed == nil {
		g.fixed = make(map[[2]int]Step)
	}
	g.fixed[[2]int{from, dst}] = s
}

// find makes the table of a destination.
func (g *Graph) find(dst int) *table {
	t := &table{hops: make([]int, g.switches), next: make([]Step, g.switches)}
	for i := range t.hops {
		t.hops[i] = far
	}
	queue := make([]int, 0, g.switches+1)
	queue = append(queue, dst)
	if dst < g.switches {
		t.hops[dst] = 0
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		hops := 0
		if at != dst {
			hops = t.hops[at]
		}
		for _, s := range g.ends[at] {
			if s.To < g.switches && t.hops[s.To] == far {
				t.hops[s.To] = hops + 1
				queue = append(queue, s.To)
			}
		}
	}
	for from := range t.hops {
		if from == dst || t.hops[from] == far {
			continue
		}
		best := Step{To: -1}
		for _, s := range g.ends[from] {
			before := s.To == dst && t.hops[from] == 1 || s.To < g.switches && s.To != dst && t.hops[s.To] == t.hops[from]-1
			if before && (best.To < 0 || g.rank[s.To] < g.rank[best.To]) {
				best = s
			}
		}
		t.next[from] = best
	}
	return t
}
