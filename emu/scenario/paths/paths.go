package paths

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync/atomic"
)

// Graph is a fabric: nodes, of which the first are switches, and links. Any number of
// goroutines may use it after the last call of Fix.
type Graph struct {
	switches int                       // how many of the nodes are switches
	ends     [][]Step                  // for each node, its links and where they lead, by the names of the nodes there
	inner    [][]Step                  // for each switch, the links that lead to switches
	twins    []int                     // for each switch, the first one with links to the same switches
	tables   []atomic.Pointer[[]int32] // for each node, the number of links between it and each switch
	fixed    map[int]map[int]Step      // to a node, from others, also if another is shorter
}

// Step is a link on a path, and the node that it leads to.
type Step struct {
	Link int // index
	To   int // node
}

// far is the number of links to a node that cannot be reached.
const far = math.MaxInt32

// New returns the graph of nodes, the first of which are switches, and of the
// links between them.
func New(names []string, switches int, links [][2]int) *Graph {
	g := &Graph{switches: switches, ends: make([][]Step, len(names)), inner: make([][]Step, switches)}
	g.tables = make([]atomic.Pointer[[]int32], len(names))
	for i, l := range links {
		g.ends[l[0]] = append(g.ends[l[0]], Step{i, l[1]})
		g.ends[l[1]] = append(g.ends[l[1]], Step{i, l[0]})
	}
	for _, steps := range g.ends {
		slices.SortStableFunc(steps, func(a, b Step) int { return strings.Compare(names[a.To], names[b.To]) })
	}
	g.connect()
	return g
}

// connect finds the links between switches.
func (g *Graph) connect() {
	first, key := map[string]int{}, []byte{}
	for i := range g.inner {
		key = key[:0]
		for _, s := range g.ends[i] {
			if s.To < g.switches {
				g.inner[i] = append(g.inner[i], s)
				key = binary.AppendUvarint(key, uint64(s.To))
			}
		}
		twin, known := first[string(key)]
		if !known {
			twin, first[string(key)] = i, i
		}
		g.twins = append(g.twins, twin)
	}
}

// Twin returns the first switch with links to the same switches as another one, such as the leaves
// of a pod: from a switch without a link to the two, the first steps to both are the same.
func (g *Graph) Twin(dst int) int {
	if len(g.fixed) > 0 {
		return dst
	}
	return g.twins[dst]
}

// Without returns the graph without some links, and without the fixed steps over them.
func (g *Graph) Without(down map[int]bool) *Graph {
	out := &Graph{switches: g.switches, ends: make([][]Step, len(g.ends)), inner: make([][]Step, g.switches)}
	out.tables = make([]atomic.Pointer[[]int32], len(g.ends))
	isDown := func(s Step) bool { return down[s.Link] }
	for i, steps := range g.ends {
		out.ends[i] = steps
		if slices.ContainsFunc(steps, isDown) {
			out.ends[i] = slices.DeleteFunc(slices.Clone(steps), isDown)
		}
	}
	for dst, from := range g.fixed {
		for at, s := range from {
			if !isDown(s) {
				out.Fix(at, dst, s)
			}
		}
	}
	out.connect()
	return out
}

// Next returns the first step on the path from a node to another. It returns
// false if there is no path, or the nodes are the same.
func (g *Graph) Next(from, dst int) (Step, bool) {
	var room [1]Step
	steps := g.steps(room[:0], from, dst, 1)
	if len(steps) == 0 {
		return Step{}, false
	}
	return steps[0], true
}

// Steps appends the first steps of all shortest paths from a node to another, beginning
// with the one that Next returns. A fixed step is the only one.
func (g *Graph) Steps(steps []Step, from, dst int) []Step {
	return g.steps(steps, from, dst, math.MaxInt)
}

// steps does what Steps does, but appends at most the given number of steps.
func (g *Graph) steps(steps []Step, from, dst, most int) []Step {
	if from == dst {
		return steps
	}
	if s, ok := g.fixed[dst][from]; ok {
		return append(steps, s)
	}
	root, last := g.Root(dst)
	if from == root {
		return append(steps, last)
	}
	hops := g.table(root)
	ends, left := g.ends[from], int32(far)
	if from < g.switches {
		left = hops[from]
		if root < g.switches {
			ends = g.inner[from]
		}
	} else {
		for _, s := range ends {
			left = min(left, g.after(s, root, hops)+1)
		}
	}
	if left >= far {
		return steps
	}
	inner := from < g.switches && root < g.switches // then all steps lead to switches, and root has its distance too
	for _, s := range ends {
		if inner && hops[s.To] == left-1 || !inner && g.after(s, root, hops) == left-1 {
			if steps = append(steps, s); len(steps) == most {
				break
			}
		}
	}
	return steps
}

// after returns the number of links between the end of a step and a destination.
func (g *Graph) after(s Step, dst int, hops []int32) int32 {
	switch {
	case s.To == dst:
		return 0
	case s.To < g.switches && hops[s.To] < far:
		return hops[s.To]
	}
	return far - 1 // one more is far
}

// Root returns the node before dst on all paths, and the step from there. A node with
// one link is reached like the switch at its end, so that one table serves all endpoints of
// a switch. For any other node it returns the node itself.
func (g *Graph) Root(dst int) (root int, last Step) {
	if dst >= g.switches && len(g.ends[dst]) == 1 && g.ends[dst][0].To < g.switches {
		return g.ends[dst][0].To, Step{g.ends[dst][0].Link, dst}
	}
	return dst, Step{}
}

// Fix sets the first step on the path from a node to another. It also applies to paths over that
// node, which may thus be loops.
func (g *Graph) Fix(from, dst int, s Step) {
	if g.fixed == nil {
		g.fixed = make(map[int]map[int]Step)
	}
	if g.fixed[dst] == nil {
		g.fixed[dst] = make(map[int]Step)
	}
	g.fixed[dst][from] = s
}

// Fixed reports whether any step to a node is fixed.
func (g *Graph) Fixed(dst int) bool { return len(g.fixed[dst]) > 0 }

// table returns the distance of each switch from a destination.
func (g *Graph) table(dst int) []int32 {
	if t := g.tables[dst].Load(); t != nil {
		return *t
	}
	hops := slices.Repeat([]int32{far}, g.switches)
	queue := make([]int, 0, g.switches+1)
	if dst < g.switches {
		hops[dst] = 0
		queue = append(queue, dst)
	} else {
		for _, s := range g.ends[dst] {
			if s.To < g.switches && hops[s.To] == far {
				hops[s.To] = 1
				queue = append(queue, s.To)
			}
		}
	}
	for k := 0; k < len(queue); k++ {
		at := queue[k]
		for _, s := range g.inner[at] {
			if hops[s.To] == far {
				hops[s.To] = hops[at] + 1
				queue = append(queue, s.To)
			}
		}
	}
	g.tables[dst].Store(&hops) // another goroutine has found the same
	return hops
}
