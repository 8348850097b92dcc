// Package paths finds the shortest paths of a fabric.
//
// A path goes over switches only: an endpoint is where one begins or ends.
// Length is the number of links. Of several shortest paths from a machine the
// one is taken whose next machine has the first name, compared byte by byte (so
// that "S10" comes before "S2"), and over parallel links the one that was given
// first; so a machine has one way towards each destination, and all that meet
// there go on together.
//
// # Limitations
//
// One path for each destination: no load is spread over equal ones.
package paths

import (
	"slices"
	"strings"
)

// Graph is a fabric: machines, of which the first are switches, and links.
type Graph struct {
	rank     []int    // for each machine, the place of its name among all names
	switches int
	ends     [][]Step // for each machine, its links in order and where they lead
}

// Step is a link on a way, and the machine that it leads to.
type Step struct {
	Link int // index; -1 where there is no way, and at the destination
	To   int // machine
}

// New returns the graph of machines, the first of which are switches, and of the
// links between them.
func New(names []string, switches int, links [][2]int) *Graph {
	g := &Graph{rank: make([]int, len(names)), switches: switches, ends: make([][]Step, len(names))}
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
		if l[0] != l[1] {
			g.ends[l[1]] = append(g.ends[l[1]], Step{i, l[0]})
		}
	}
	return g
}

// Towards returns, for each machine, the first step of its way to a
// destination.
func (g *Graph) Towards(dst int) []Step {
	const far = int(^uint(0) >> 1)
	hops := make([]int, len(g.rank))
	steps := make([]Step, len(g.rank))
	for i := range hops {
		hops[i], steps[i] = far, Step{Link: -1, To: -1}
	}
	hops[dst] = 0
	queue := append(make([]int, 0, len(g.rank)), dst)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at != dst && at >= g.switches {
			continue // an endpoint forwards nothing
		}
		for _, s := range g.ends[at] {
			if hops[s.To] == far {
				hops[s.To] = hops[at] + 1
				queue = append(queue, s.To)
			}
		}
	}
	for from := range g.rank {
		if from == dst || hops[from] == far {
			continue
		}
		for _, s := range g.ends[from] {
			if s.To != dst && s.To >= g.switches || hops[s.To] != hops[from]-1 {
				continue
			}
			if steps[from].Link < 0 || g.rank[s.To] < g.rank[steps[from].To] {
				steps[from] = s
			}
		}
	}
	return steps
}
