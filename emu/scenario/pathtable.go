package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fabemu/emu/scenario/paths"
	"fabemu/wire"
	"fabemu/wire/unit"
)

// FirstQP is the queue pair of the first flow: 0 and 1 are reserved by InfiniBand.
const FirstQP = 2

// PathTable has the paths of frames through the fabric of a scenario. Its nodes are numbers:
// switches, then endpoints. It does not change, and any number of goroutines may use it.
type PathTable struct {
	Index  map[string]int // the number of each node
	Epochs []Epoch        // by time; the first begins at 0
	ecmp   bool
	seeds  []uint64       // by switch
	graphs []*paths.Graph // by state of the links; the first has all of them
}

// Epoch is a span of time in which routes do not change.
type Epoch struct {
	At    unit.Duration
	State int // of the links: epochs with the same state have the same routes
}

// Key identifies a flow where paths are chosen (wire.Choose). Nodes are numbers.
type Key struct {
	Src, Dst int
	QP       uint32
}

// PathTableOf returns the paths of a scenario: those that Load has found if it has not changed.
func PathTableOf(s *Scenario) *PathTable {
	if s.loaded.is(s) && s.loaded.Paths != nil {
		return s.loaded.Paths
	}
	names := append(s.switchNames(), namesOf(s.Endpoints, func(e *Endpoint) string { return e.Name })...)
	w := &PathTable{Index: make(map[string]int, len(names)), Epochs: make([]Epoch, 1), ecmp: s.Routing.Paths == ECMP}
	for i, name := range names {
		w.Index[name] = i
	}
	for i := range s.Switches {
		w.seeds = append(w.seeds, wire.ChoiceSeed(s.Model.Seed, i))
	}
	links, byName := make([][2]int, len(s.Links)), make(map[string]int, len(s.Links))
	for i := range s.Links {
		l := &s.Links[i]
		links[i], byName[l.Name] = [2]int{w.Index[l.A], w.Index[l.B]}, i
	}
	g := paths.New(names, len(s.Switches), links)
	last := unit.Duration(0)
	for _, route := range slices.SortedStableFunc(slices.Values(s.Routes), func(a, b Route) int { return cmp.Compare(a.Since, b.Since) }) {
		if route.Since > last {
			w.graphs = append(w.graphs, g)
			g, last = g.Without(nil), route.Since
			w.Epochs = append(w.Epochs, Epoch{last, len(w.graphs)})
		}
		link, known := byName[route.Over]
		at, dst := w.Index[route.At], w.Index[route.To]
		if !known || links[link][0] != at && links[link][1] != at {
			continue // the scenario is built in Go and not right: Resolved refuses it
		}
		g.Fix(at, dst, paths.Step{Link: link, To: links[link][0] + links[link][1] - at})
	}
	w.graphs = append(w.graphs, g)
	if s.Routing.Recompute > 0 {
		w.recompute(s)
	}
	return w
}

// recompute adds the epochs that begin after links have gone down or up.
func (w *PathTable) recompute(s *Scenario) {
	all, down := s.Outages(), map[int]bool{}
	states := map[string]int{"[]": 0}
	for i, o := range all {
		if o.Down {
			down[o.Link] = true
		} else {
			delete(down, o.Link)
		}
		at := o.At + s.Routing.Recompute
		if i+1 < len(all) && all[i+1].At == o.At || at >= s.Model.Duration {
			continue
		}
		key := fmt.Sprint(slices.Sorted(maps.Keys(down)))
		state, known := states[key]
		if !known {
			state = len(w.graphs)
			states[key] = state
			w.graphs = append(w.graphs, w.graphs[0].Without(down))
		}
		w.Epochs = append(w.Epochs, Epoch{at, state})
	}
}

// Seed returns the seed of a switch for wire.Choose.
func (w *PathTable) Seed(node int) uint64 { return w.seeds[node] }

// Root returns the node before an endpoint on all paths from all nodes in all states of the links,
// and the step from there. If there is none, it returns the endpoint.
func (w *PathTable) Root(dst int) (root int, last paths.Step) {
	for _, g := range w.graphs {
		if g.Fixed(dst) {
			return dst, paths.Step{}
		}
	}
	return w.graphs[0].Root(dst)
}

// Twin returns a switch to which Steps are the same as to another one, unless they begin at a
// switch with a link to it (paths.Graph.Twin).
func (w *PathTable) Twin(state, dst int) int {
	if twin := w.graphs[0].Twin(dst); w.graphs[state].Twin(dst) == twin {
		return twin
	}
	return dst
}

// Steps appends the steps from a node towards another; wire.Choose takes one of them. If no path is
// left, they are the steps in a fabric with all its links: frames wait for one of these.
func (w *PathTable) Steps(steps []paths.Step, state, at, dst int) []paths.Step {
	if w.ecmp {
		if more := w.graphs[state].Steps(steps, at, dst); len(more) > len(steps) {
			return more
		}
		return w.graphs[0].Steps(steps, at, dst)
	}
	step, ok := w.graphs[state].Next(at, dst)
	if !ok {
		step, ok = w.graphs[0].Next(at, dst)
	}
	if ok {
		steps = append(steps, step)
	}
	return steps
}

// Next returns the step that a flow's frames take from a node, and whether there is one.
func (w *PathTable) Next(state, at int, k Key) (s paths.Step, ok bool) {
	var room [64]paths.Step
	steps := w.Steps(room[:0], state, at, k.Dst)
	switch {
	case len(steps) == 0:
		return paths.Step{}, false
	case len(steps) > 1 && at < len(w.seeds):
		return steps[wire.Choose(w.seeds[at], wire.LID(k.Src+1), wire.LID(k.Dst+1), k.QP, len(steps))], true
	}
	return steps[0], true
}

// Shared reports whether paths to one destination that meet stay together: they do unless flows
// choose.
func (w *PathTable) Shared() bool { return !w.ecmp }

// ECMP returns the paths as they would be with routing: ecmp.
func (w *PathTable) ECMP() *PathTable {
	equal := *w
	equal.ecmp = true
	return &equal
}

// Leap is the distance of the hops at which paths are remembered. Short paths are not remembered,
// and long ones take little memory.
const Leap = 16

// Place is a node on the path to another.
type Place struct{ At, Dst int }

// ErrNoPath reports that no links lead to a destination, ErrRound that routes lead past the
// same switch again and again.
var (
	ErrNoPath = errors.New("there is no path")
	ErrRound  = errors.New("the routes go round")
)

// Walk visits the steps of a flow's frames from a node to their destination, or until visit returns
// false. Each step comes with the node that it leaves. An error is ErrNoPath or ErrRound; at is the
// node where it occurred.
func (w *PathTable) Walk(state, from int, k Key, visit func(at int, s paths.Step) bool) (at int, err error) {
	for hops := 0; from != k.Dst; hops++ {
		s, ok := w.Next(state, from, k)
		switch {
		case !ok:
			return from, ErrNoPath
		case hops > len(w.Index):
			return from, ErrRound
		case !visit(from, s):
			return from, nil
		}
		from = s.To
	}
	return from, nil
}

// Visit visits all steps that frames of a flow with a known queue pair may take while a scenario
// runs: the steps of its path and, after each change of the routes, the steps from all nodes that
// frames may have reached.
func (w *PathTable) Visit(k Key, visit func(at int, s paths.Step)) (at int, err error) {
	if len(w.Epochs) == 1 {
		return w.Walk(0, k.Src, k, func(at int, s paths.Step) bool { visit(at, s); return true })
	}
	been := map[int]bool{k.Src: true}
	for _, e := range w.Epochs {
		for _, from := range slices.Sorted(maps.Keys(been)) {
			at, err = w.Walk(e.State, from, k, func(at int, s paths.Step) bool {
				been[at] = true
				visit(at, s)
				return true
			})
			if err != nil {
				return at, err
			}
		}
	}
	return at, nil
}

// Reach visits the steps that frames from some nodes to another may take while a scenario runs,
// with any choice among equal paths and, after each change of the routes, from all nodes that
// frames may have reached. Each step comes with the node that it leaves, and again after visit has
// said of a step to that node that it brings more.
func (w *PathTable) Reach(from []int, dst int, visit func(at int, s paths.Step) (more bool)) {
	reached, waits := slices.Clone(from), make([]bool, len(w.Index))
	been := make([]bool, len(w.Index))
	for _, at := range from {
		been[at] = true
	}
	var steps []paths.Step
	found := 1             // how often a step has brought more
	known := map[int]int{} // and how much of that each state of the links has spread
	for _, e := range w.Epochs {
		if known[e.State] == found {
			continue
		}
		queue := slices.Clone(reached)
		for _, at := range queue {
			waits[at] = true
		}
		for len(queue) > 0 {
			at := queue[0]
			queue, waits[at] = queue[1:], false
			if at == dst {
				continue
			}
			steps = w.Steps(steps[:0], e.State, at, dst)
			for _, s := range steps {
				if !visit(at, s) {
					continue
				}
				found++
				if !been[s.To] {
					been[s.To] = true
					reached = append(reached, s.To)
				}
				if !waits[s.To] {
					waits[s.To] = true
					queue = append(queue, s.To)
				}
			}
		}
		known[e.State] = found
	}
}

// Stray looks for frames from some nodes to another that never arrive, with any choice among equal
// paths and, after each change of the routes, from all nodes that frames may have reached. An error
// is ErrNoPath or ErrRound; at is the node where it occurred.
func (w *PathTable) Stray(from []int, dst int) (at int, err error) {
	if !slices.ContainsFunc(w.graphs, func(g *paths.Graph) bool { return g.Fixed(dst) }) { // shortest paths never go round
		for _, at := range from {
			if _, some := w.graphs[0].Next(at, dst); at != dst && !some {
				return at, ErrNoPath
			}
		}
		return dst, nil
	}
	reached, been := slices.Clone(from), make([]bool, len(w.Index))
	for _, at := range from {
		been[at] = true
	}
	for _, e := range w.Epochs {
		const entered, arrives = 1, 2
		state := make([]uint8, len(w.Index))
		state[dst] = arrives
		var enter func(at int) (int, error)
		enter = func(at int) (int, error) {
			switch state[at] {
			case entered:
				return at, ErrRound
			case arrives:
				return at, nil
			}
			state[at] = entered
			steps := w.Steps(nil, e.State, at, dst)
			if len(steps) == 0 {
				return at, ErrNoPath
			}
			for _, s := range steps {
				if !been[s.To] {
					been[s.To] = true
					reached = append(reached, s.To)
				}
				if at, err := enter(s.To); err != nil {
					return at, err
				}
			}
			state[at] = arrives
			return at, nil
		}
		for _, at := range slices.Clone(reached) {
			if at, err = enter(at); err != nil {
				return at, err
			}
		}
	}
	return dst, nil
}

// Longest returns how many switches frames from some nodes to another pass at most in a state of
// the links, with any choice among equal paths. No path may go round (Stray).
func (w *PathTable) Longest(state int, from []int, dst int) (most int) {
	known := map[int]int{} // the switches from a node on, itself included, plus one
	var after func(at int) int
	after = func(at int) int {
		if known[at] == 0 {
			own := 0
			if at < len(w.seeds) {
				own = 1
			}
			longest := 0
			if at != dst {
				for _, s := range w.Steps(nil, state, at, dst) {
					longest = max(longest, after(s.To))
				}
			}
			known[at] = own + longest + 1
		}
		return known[at] - 1
	}
	for _, at := range from {
		most = max(most, after(at))
	}
	return most
}

// Used reports for each link whether frames of flows may cross it, in any state of the links and
// with any choice among equal paths.
func (w *PathTable) Used(flows []Key, links int) []bool {
	used := make([]bool, links)
	sources := map[int][]int{} // by root
	for _, k := range flows {
		root, last := w.Root(k.Dst)
		if root != k.Dst {
			used[last.Link] = true
		}
		sources[root] = append(sources[root], k.Src)
	}
	for dst, from := range sources {
		for state := range w.graphs {
			w.Flood(state, from, dst, func(_ int, s paths.Step) { used[s.Link] = true })
		}
	}
	return used
}

// Flood visits each step from some nodes to another that frames may take in a state of the links,
// with any choice among equal paths. Each step comes with the node that it leaves.
func (w *PathTable) Flood(state int, from []int, dst int, visit func(at int, s paths.Step)) {
	var steps []paths.Step
	been := make([]bool, len(w.Index))
	been[dst] = true
	for left := slices.Clone(from); len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if been[at] {
			continue
		}
		been[at] = true
		steps = w.Steps(steps[:0], state, at, dst)
		for _, s := range steps {
			visit(at, s)
			left = append(left, s.To)
		}
	}
}
