package lint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fabemu/emu/scenario"
	"fabemu/emu/scenario/paths"
	nodes "fabemu/node"
	"fabemu/node/tcp"
	"fabemu/node/uet"
	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/port"
)

// Buffer is the room at the end of a link for frames of one class, whose senders wait when it is
// full.
type Buffer struct {
	Link  string // its direction, such as "S1-S2", or "trunk.S1-S2" of a link with a name of its own
	Class string // "VL1", "priority 3" or "channel 5"; empty with PAUSE, which stops all frames
}

func (b Buffer) String() string { return strings.TrimSpace(b.Link + " " + b.Class) }

// Deadlock is a cycle of buffers: a frame in each of them may wait for room in the next, and one in
// the last for room in the first. Under enough load nothing in the cycle moves any more.
type Deadlock struct {
	Cycle   []Buffer
	Senders []string // flows and workloads whose frames wait so, of which one suffices at each buffer
	first   int      // a flow, or behind all of them a workload
}

func (d *Deadlock) Error() string {
	var cycle []string
	class, remedy := d.Cycle[0].Class, "change the routes"
	for _, b := range d.Cycle {
		cycle = append(cycle, b.String())
	}
	if !slices.ContainsFunc(d.Cycle, func(b Buffer) bool { return b.Class != class }) {
		for i, b := range d.Cycle {
			cycle[i] = b.Link
		}
		if class != "" {
			cycle[0] = class + ": " + cycle[0]
		}
	}
	if strings.HasPrefix(class, lanePrefix) {
		remedy += ", or the lanes on the way (sl2vl)"
	}
	return fmt.Sprintf("the buffers of %d links may wait for one another in a cycle, %s, because of %s: under load all of them can stop for good; %s",
		len(cycle), some(cycle), some(d.Senders), remedy)
}

// lanePrefix begins the class of a virtual lane.
const lanePrefix = "VL"

// some prints a list, of a long one the beginning and the number of the others.
func some(list []string) string {
	const most = 12
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return strings.Join(list, ", ")
}

// FindDeadlock looks for a cycle of buffers on the paths of all flows and workloads, and of their
// answers: by routes, along shortest paths, and with any choice among equal ones. It returns a
// shortest cycle, or nil.
//
// It follows each state of the routes by itself, and the lanes at the start. A sender that never
// waits for long is in no cycle: without flow control, with head-of-queue-lifetime, and at a switch
// whose watchdog drops or forwards. ACKs that have a lane apart are left out.
func FindDeadlock(s *scenario.Scenario, table *scenario.PathTable) *Deadlock {
	return findDeadlock(s, table, len(s.Flows))
}

// deadlocks warns of a cycle of buffers.
func deadlocks(s *scenario.Site, p *scenario.Problems) {
	d := findDeadlock(s.Scenario, s.Paths, s.Own)
	if d == nil {
		return
	}
	of := s.Workload
	first := d.first - s.Own
	if first < 0 {
		of, first = s.Flow, d.first
	}
	p.Add(of(first).Path(), "%v", d).Manageable = true
}

// class is what the buffers at the ends of links distinguish.
type class int

// loose is the class of frames whose senders do not wait, and classes the number of the others.
const (
	loose   class = -1
	classes class = 32
)

// buffers is the graph of the buffers.
type buffers struct {
	s      *scenario.Scenario
	table  *scenario.PathTable
	names  []string // of nodes
	ends   [][2]int // of links
	rules  map[crossing]rule
	lanes  map[[2]int]port.SLToVL // by the direction of the link by which frames come, and the link by which they leave
	from   bool                   // a rule of lanes depends on the link by which frames come
	next   [][]int                // by buffer, those that frames in it may wait for
	groups map[group]*members

	wanted map[edge]int // waits of a cycle, and the first sender whose frames wait so; -1: it is not known yet; nil: no cycle is known
	by     int          // the sender that is followed
}

// crossing is where a rule of lanes counts: at a node, for frames from a link, or all, over a link,
// or all.
type crossing struct{ at, from, over string }

// rule is the last rule of lanes for a crossing. Later ones have higher numbers.
type rule struct {
	number int
	lanes  scenario.LaneMap
}

// edge is that frames in a buffer may wait for another.
type edge struct{ in, out int }

// group is frames to one node that are in the same class everywhere.
type group struct {
	dst      int
	family   wire.Family
	sl       uint8
	priority uint8
}

// members are the nodes that send the frames of a group, some more than once.
type members struct{ from [][]int }

func findDeadlock(s *scenario.Scenario, table *scenario.PathTable, own int) *Deadlock {
	b := &buffers{s: s, table: table, names: make([]string, len(table.Index)), rules: map[crossing]rule{}, lanes: map[[2]int]port.SLToVL{},
		next: make([][]int, 2*len(s.Links)*int(classes)), groups: map[group]*members{}}
	for name, i := range table.Index {
		b.names[i] = name
	}
	families := make([]wire.Family, len(b.names))
	for i := range s.Links {
		l := &s.Links[i]
		b.ends = append(b.ends, [2]int{table.Index[l.A], table.Index[l.B]})
		for _, end := range b.ends[i] {
			families[end] = l.Family()
		}
	}
	for i := range s.LaneRules {
		if r := &s.LaneRules[i]; r.Lanes != "" && r.Since == 0 {
			b.rules[crossing{r.At, r.From, r.Over}] = rule{i + 1, r.Lanes}
			b.from = b.from || r.From != ""
		}
	}
	senders := own + len(s.Workloads)
	for i := range senders {
		b.sender(i, own, families)
	}
	w := walk{buffers: b, seen: make([]int, 2*len(s.Links)*int(classes+1)), steps: make([]step, len(b.names)), known: make([]class, 2*len(s.Links))}
	w.followAll()
	cycle := b.shortest()
	if cycle == nil {
		return nil
	}
	d := &Deadlock{first: -1}
	b.wanted = map[edge]int{}
	for k, at := range cycle {
		d.Cycle = append(d.Cycle, b.buffer(at))
		b.wanted[edge{at, cycle[(k+1)%len(cycle)]}] = -1
	}
	for b.by = 0; b.by < senders && b.unnamed() > 0; b.by++ {
		clear(b.groups)
		b.sender(b.by, own, families)
		w.followAll()
	}
	for k, at := range cycle {
		by := b.wanted[edge{at, cycle[(k+1)%len(cycle)]}]
		name := ""
		if by < own {
			name = "flow " + s.Flows[by].Name
		} else {
			name = "workload " + s.Workloads[by-own].Name
		}
		if d.first < 0 {
			d.first = by
		}
		if !slices.Contains(d.Senders, name) {
			d.Senders = append(d.Senders, name)
		}
	}
	return d
}

// sender enters the frames of a flow, or behind all of them of a workload.
func (b *buffers) sender(i, own int, families []wire.Family) {
	if i < own {
		f := &b.s.Flows[i]
		src, dst := b.table.Index[f.From], b.table.Index[f.To]
		b.send(f, families[src], []int{src}, []int{dst})
		return
	}
	var all []int
	names := b.s.Workloads[i-own].Members()
	for _, name := range names {
		all = append(all, b.table.Index[name])
	}
	f := b.s.Workloads[i-own].Template(names[0], names[1])
	b.send(&f, families[all[0]], all, all)
}

// unnamed returns how many waits of the cycle have no sender yet.
func (b *buffers) unnamed() (n int) {
	for _, by := range b.wanted {
		if by < 0 {
			n++
		}
	}
	return n
}

// send enters the frames of a flow from each of some nodes to each of others, and their answers.
func (b *buffers) send(f *scenario.Flow, family wire.Family, from, to []int) {
	if family == wire.InfiniBand {
		b.enter(group{family: family, sl: uint8(f.SL)}, from, to)
		if f.AckSL != scenario.AcksApart {
			b.enter(group{family: family, sl: uint8(f.AckSL)}, to, from)
		}
		return
	}
	b.enter(group{family: family, priority: f.Priority}, from, to)
	if b.s.Algorithm(f).Answer != nil {
		b.enter(group{family: family, priority: f.Priority}, to, from)
	}
	switch p := f.Transport.Params.(type) {
	case nodes.RoCEParams:
		ack := p.Ack(false)
		b.enter(group{family: family, priority: ack.Lane}, to, from)
	case uet.Params:
		b.enter(group{family: family, priority: p.AckPriority}, to, from)
	case tcp.Params:
		b.enter(group{family: family, priority: f.Priority}, to, from)
	}
}

// enter enters frames between nodes. Those to all endpoints behind the same switch take the same
// path to it, and need no room behind it.
func (b *buffers) enter(g group, from, to []int) {
	ends := b.roots(to)
	if !b.from {
		from = b.roots(from) // what nothing waits for in a cycle, the buffer of the endpoint's link, is left out
	}
	for _, end := range ends {
		g.dst = end
		m := b.groups[g]
		if m == nil {
			m = &members{}
			b.groups[g] = m
		}
		m.from = append(m.from, from)
	}
}

// roots returns where paths between nodes begin and end (scenario.PathTable.Root), without
// repetition.
func (b *buffers) roots(nodes []int) (roots []int) {
	for _, node := range nodes {
		root, _ := b.table.Root(node)
		roots = append(roots, root)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// place is frames at a node, with the direction of the link by which they came, and their class
// there. in is negative where they begin.
type place struct {
	at, in int
	class  class
}

// walk follows the frames of one group after another.
type walk struct {
	*buffers
	stamp int
	seen  []int   // by direction of a link and class, the stamp of the last group that has reached it
	steps []step  // by node
	known []class // by direction of a link, the class of the present group and those like it
	alike group   // them, without their end
	queue []place
}

// step is the steps from a node, of the group with a stamp.
type step struct {
	stamp int
	list  []paths.Step
}

// unknown stands for a class that was not looked up yet.
const unknown = loose - 1

// followAll enters what frames of all groups wait for, in each state of the routes.
func (w *walk) followAll() {
	order := func(x, y group) int {
		return cmp.Or(cmp.Compare(x.family, y.family), cmp.Compare(x.sl, y.sl), cmp.Compare(x.priority, y.priority), cmp.Compare(x.dst, y.dst))
	}
	for _, g := range slices.SortedFunc(maps.Keys(w.groups), order) {
		like := g
		if like.dst = 0; w.stamp == 0 || like != w.alike {
			w.alike = like
			for k := range w.known {
				w.known[k] = unknown
			}
		}
		been := map[int]bool{}
		for _, e := range w.table.Epochs {
			if !been[e.State] {
				been[e.State] = true
				w.follow(g, w.groups[g], e.State)
			}
		}
	}
}

// follow enters what frames of a group wait for in a state of the routes.
func (w *walk) follow(g group, m *members, state int) {
	w.stamp++
	for _, list := range m.from {
		for _, src := range list {
			w.queue = append(w.queue, place{src, -1, loose})
		}
	}
	for len(w.queue) > 0 {
		p := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		if p.at == g.dst {
			continue
		}
		here := &w.steps[p.at]
		if here.stamp != w.stamp {
			here.stamp, here.list = w.stamp, w.table.Steps(here.list[:0], state, p.at, g.dst)
		}
		for _, step := range here.list {
			out := 2 * step.Link
			if w.ends[step.Link][0] != p.at {
				out++
			}
			c := w.known[out]
			if c == unknown {
				if c = w.classOf(&g, p, step); !w.from {
					w.known[out] = c
				}
			}
			if p.class != loose && c != loose {
				w.wait(p.in*int(classes)+int(p.class), out*int(classes)+int(c))
			}
			if was := &w.seen[out*int(classes+1)+int(c)+1]; *was != w.stamp {
				*was = w.stamp
				w.queue = append(w.queue, place{step.To, out, c})
			}
		}
	}
}

// wait enters that frames in a buffer may wait for room in another.
func (b *buffers) wait(in, out int) {
	if b.wanted != nil {
		if by, of := b.wanted[edge{in, out}]; of && by < 0 {
			b.wanted[edge{in, out}] = b.by
		}
		return
	}
	if !slices.Contains(b.next[in], out) {
		b.next[in] = append(b.next[in], out)
	}
}

// classOf returns the class in which frames of a group leave a node; loose if nobody waits for
// them.
func (b *buffers) classOf(g *group, p place, step paths.Step) class {
	l, switches := &b.s.Links[step.Link], b.s.Switches
	switch {
	case step.To >= len(switches): // an endpoint takes in what comes
		return loose
	case l.FlowControl == port.Credits:
		vl := b.lane(g.sl, p, step.Link)
		if p.at < len(switches) && l.Lanes.HeadLife > 0 || vl >= l.Lanes.Count() {
			return loose
		}
		return class(vl)
	case p.at < len(switches) && switches[p.at].Watchdog.Poll > 0 && switches[p.at].Watchdog.Action != switchd.StormAlert:
		return loose
	}
	to := &switches[step.To]
	switch {
	case l.FlowControl == port.PauseFrames && to.Stops(l.FlowControl):
		return 0
	case l.FlowControl == port.PriorityPauseFrames && to.Lossless>>g.priority&1 == 1:
		return class(g.priority)
	case l.FlowControl == port.ChannelCredits && l.CBFC.Carry>>g.priority&1 == 1:
		return class(l.CBFC.First + g.priority)
	}
	return loose
}

// lane returns the lane in which frames of a service level leave a node.
func (b *buffers) lane(sl uint8, p place, link int) int {
	l := &b.s.Links[link]
	if l.Lanes.Count() == 1 {
		return 0
	}
	key := [2]int{p.in, 2 * link}
	if b.ends[link][0] != p.at {
		key[1]++
	}
	table, known := b.lanes[key]
	if !known {
		from, last := "", rule{lanes: l.Lanes.SL2VL}
		if p.in >= 0 {
			from = b.s.Links[p.in/2].Name
		}
		for _, at := range []crossing{{over: l.Name}, {}, {from: from, over: l.Name}, {from: from}} {
			at.at = b.names[p.at]
			if r := b.rules[at]; r.number > last.number {
				last = r
			}
		}
		table = last.lanes.Of(l.Lanes.Count())
		b.lanes[key] = table
	}
	return int(table.Of(sl))
}

// buffer describes a buffer.
func (b *buffers) buffer(i int) (out Buffer) {
	hop, c := i/int(classes), i%int(classes)
	l := &b.s.Links[hop/2]
	ends := [2]string{l.A, l.B}
	if out.Link = ends[hop%2] + "-" + ends[1-hop%2]; l.Name != l.A+" - "+l.B {
		out.Link = l.Name + "." + out.Link
	}
	switch l.FlowControl {
	case port.Credits:
		out.Class = fmt.Sprintf("%s%d", lanePrefix, c)
	case port.PriorityPauseFrames:
		out.Class = fmt.Sprintf("priority %d", c)
	case port.ChannelCredits:
		out.Class = fmt.Sprintf("channel %d", c)
	}
	return out
}

// shortest returns a shortest cycle of the graph; nil if there is none. It takes away the buffers
// that wait for nothing, and those that nothing waits for, until only those are left that lie on a
// cycle or between cycles.
func (b *buffers) shortest() (best []int) {
	waits, before := make([]int, len(b.next)), make(map[int][]int) // how many buffers each waits for; those that wait for it
	var free []int
	for i, list := range b.next {
		waits[i] = len(list)
		for _, e := range list {
			before[e] = append(before[e], i)
		}
	}
	kept := make([]int, len(b.next)) // how many buffers wait for each
	for i, n := range waits {
		if kept[i] = len(before[i]); n == 0 && kept[i] > 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		for _, j := range before[i] {
			if waits[j]--; waits[j] == 0 {
				free = append(free, j)
			}
		}
	}
	for i, n := range waits {
		if n > 0 && kept[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 { // nothing waits for them
		i := free[len(free)-1]
		free, waits[i] = free[:len(free)-1], 0
		for _, e := range b.next[i] {
			if kept[e]--; kept[e] == 0 && waits[e] > 0 {
				free = append(free, e)
			}
		}
	}
	// From many starts the search would take long, and the first cycles are as good.
	const most = 64
	starts := 0
	for start, n := range waits {
		if n == 0 || starts == most {
			continue
		}
		if cycle := b.back(start, waits); cycle != nil {
			starts++
			if best == nil || len(cycle) < len(best) {
				best = cycle
			}
		}
	}
	return best
}

// back returns a shortest cycle through a buffer, of those that wait; nil if there is none.
func (b *buffers) back(start int, waits []int) (cycle []int) {
	from, queue := map[int]int{}, []int{start}
	for k := 0; k < len(queue); k++ {
		at := queue[k]
		for _, e := range b.next[at] {
			if _, been := from[e]; been || waits[e] == 0 {
				continue
			}
			from[e] = at
			if e == start {
				for i := at; ; i = from[i] {
					cycle = append(cycle, i)
					if i == start {
						slices.Reverse(cycle)
						return cycle
					}
				}
			}
			queue = append(queue, e)
		}
	}
	return nil
}
