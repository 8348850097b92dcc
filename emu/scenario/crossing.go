package scenario

import (
	"maps"
	"slices"

	"fabemu/emu/scenario/paths"
	nodes "fabemu/node"
	"fabemu/node/rp"
	"fabemu/node/tcp"
	"fabemu/node/uet"
	"fabemu/switchd/cp"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// MembersOf returns the endpoints of a workload.
func (r *Site) MembersOf(w *Workload) (nodes []int) {
	for _, name := range w.Members() {
		nodes = append(nodes, r.Paths.Index[name])
	}
	return nodes
}

// Roots returns where paths between nodes begin and end (PathTable.Root), without repetition.
func (r *Site) Roots(nodes []int) (roots []int) {
	for _, node := range nodes {
		root, _ := r.Paths.Root(node)
		roots = append(roots, root)
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// output is a link in the direction from a node.
type output struct{ node, link int }

// Sender is a flow, or a workload, of which each member may send to each other.
type Sender struct {
	*Site
	Of       Origin
	Flow     *Flow  // of a workload the first that stands for it
	Name     string // in messages
	src, dst []int  // of a workload the roots of its members
	members  []int  // of a workload
}

// Senders visits the flows and the workloads.
func (r *Site) Senders(yield func(*Sender) bool) {
	for i, of := range r.FlowOrigins[:r.Own] {
		f, k := &r.Flows[i], r.Key(of.Index)
		if !yield(&Sender{r, of, f, "flow " + f.Name, []int{k.Src}, []int{k.Dst}, nil}) {
			return
		}
	}
	for i, of := range r.WorkloadOrigins {
		w := &r.Workloads[i]
		members := r.MembersOf(w)
		roots := r.Roots(members)
		if !yield(&Sender{r, of, &r.Flows[of.Index], "a transfer of workload " + w.Name, roots, roots, members}) {
			return
		}
	}
}

// Item returns the item of the flow, or of the workload.
func (s *Sender) Item() Item { return s.Of.Item }

// Forth visits the steps that frames may take, in all states of the routes and with any choice
// among equal paths, some more than once. Each step comes with the node that it leaves.
func (s *Sender) Forth(visit func(at int, step paths.Step)) { s.visit(s.src, s.dst, visit) }

// Back visits the steps of the answers.
func (s *Sender) Back(visit func(at int, step paths.Step)) { s.visit(s.dst, s.src, visit) }

func (s *Sender) visit(from, to []int, visit func(at int, step paths.Step)) {
	for _, node := range s.members {
		if root, last := s.Paths.Root(node); root != node {
			visit(root, last)
			visit(node, paths.Step{Link: last.Link, To: root})
		}
	}
	for _, dst := range to {
		been := map[output]bool{}
		s.Paths.Reach(from, dst, func(at int, step paths.Step) bool {
			o := output{at, step.Link}
			more := !been[o]
			if been[o] = true; more {
				visit(at, step)
			}
			return more
		})
	}
}

// Divides reports whether a frame may take one of several equal steps somewhere, at the start of
// the run.
func (s *Sender) Divides() bool {
	for _, dst := range s.dst {
		several := false
		s.Paths.Flood(0, s.src, dst, func(at int, _ paths.Step) {
			several = several || len(s.Paths.Steps(nil, 0, at, dst)) > 1
		})
		if several {
			return true
		}
	}
	return false
}

// VisitPaths visits the steps that frames of a flow may take while the scenario runs: those of its
// path, or of all equal paths if its packets may take several at a time (Scenario.Spreads). Each
// step comes with the node that it leaves, and with whether every packet takes it at the start of
// the run.
func (r *Site) VisitPaths(flow int, visit func(at int, step paths.Step, sure bool)) {
	r.visitPaths(r.Key(flow), r.Flows[flow].Transport, visit)
}

// VisitAnswers visits the steps of the ACKs of a flow, as VisitPaths does.
func (r *Site) VisitAnswers(flow int, visit func(at int, step paths.Step, sure bool)) {
	k := r.Key(flow)
	k.Src, k.Dst = k.Dst, k.Src
	r.visitPaths(k, r.Flows[flow].Transport, visit)
}

func (r *Site) visitPaths(k Key, t Transport, visit func(at int, step paths.Step, sure bool)) {
	if !r.Spreads(t) {
		r.Paths.Visit(k, func(at int, step paths.Step) { visit(at, step, true) })
		return
	}
	sure := map[output]bool{}
	for at := []int{k.Src}; len(at) > 0 && len(sure) <= len(r.Links); {
		var level []output
		next := map[int]bool{}
		for _, node := range at {
			for _, s := range r.Paths.Steps(nil, 0, node, k.Dst) {
				level = append(level, output{node, s.Link})
				next[s.To] = s.To != k.Dst
			}
		}
		if len(level) == 1 {
			sure[level[0]] = true
		}
		at = at[:0]
		for node, on := range next {
			if on {
				at = append(at, node)
			}
		}
	}
	been := map[output]bool{}
	r.Paths.Reach([]int{k.Src}, k.Dst, func(at int, step paths.Step) (more bool) {
		o := output{at, step.Link}
		if more = !been[o]; more {
			been[o] = true
			visit(at, step, sure[o])
		}
		return more
	})
}

// Hops returns how many switches a frame passes at most, with any choice among equal paths.
func (s *Sender) Hops() (most int) {
	for _, dst := range s.dst {
		for state := range s.Paths.graphs {
			most = max(most, s.Paths.Longest(state, s.src, dst))
		}
	}
	return most
}

// Largest returns the flow with the largest packet that may cross a link in either
// direction; nil if none does.
func (r *Site) Largest(link int) *Flow {
	var largest *Flow
	for i := range r.crossed[link] {
		if f := r.largestOf(&r.crossed[link][i]); largest == nil || f != nil && largest.Packet < f.Packet {
			largest = f
		}
	}
	return largest
}

// largestOf returns the flow with the largest packet of a crossing; nil if there is none.
func (r *Site) largestOf(c *crossing) *Flow {
	d := carried{}
	for _, of := range c.data {
		d.join(of)
	}
	if d.flow == 0 {
		return nil
	}
	return &r.Flows[d.flow-1]
}

// into returns the crossing of a link towards the node at one of its ends.
func (r *Site) into(node string, link int) *crossing {
	if r.Links[link].A == node {
		return &r.crossed[link][1]
	}
	return &r.crossed[link][0]
}

// Arriving returns by priority the flow with the largest packet that may cross a link towards the
// node at one of its ends; nil: there is none.
func (r *Site) Arriving(node string, link int) (flows [port.Priorities]*Flow) {
	for p, d := range r.into(node, link).data {
		if d.flow > 0 {
			flows[p] = &r.Flows[d.flow-1]
		}
	}
	return flows
}

// Frame returns a data frame of a flow, of the greatest length that its algorithm and transport
// give it.
func (s *Scenario) Frame(f *Flow, family wire.Family) wire.Frame {
	frame := wire.Frame{Kind: wire.Data, Family: family, Payload: uint32(f.Packet)}
	if add := rp.TraitsOf(f.Control.Params).Frame; add != nil {
		add(&frame)
	}
	f.Transport.frame(&frame)
	return frame
}

// passes visits the switches that frames of a flow may reach, each with the step that leads there.
func (r *Site) passes(k Key, visit func(s *Switch, step paths.Step)) {
	r.Paths.Reach([]int{k.Src}, k.Dst, once(func(step paths.Step) {
		if step.To < len(r.Switches) {
			visit(&r.Switches[step.To], step)
		}
	}))
}

// once returns a visitor for PathTable.Reach that visits each step once.
func once(visit func(step paths.Step)) func(at int, step paths.Step) (more bool) {
	been := map[paths.Step]bool{}
	return func(_ int, step paths.Step) bool {
		if been[step] {
			return false
		}
		been[step] = true
		visit(step)
		return true
	}
}

// crossing sums up the frames that may cross a link in one direction, or reach a node, in all
// states of the routes and with any choice among equal paths.
type crossing struct {
	data       [port.Priorities]carried // by priority
	priorities uint8                    // of all frames, a bit each
	longest    unit.Size                // frame, feedback included, on the link
}

// carried is the flow with the largest packet.
type carried struct {
	flow   int // its index plus one; 0: there is none
	packet unit.Size
}

// join adds the flows of d, and reports whether that makes a difference. Of equal packets that of
// the first flow counts.
func (c *carried) join(d carried) bool {
	if d.flow == 0 || c.flow > 0 && (d.packet < c.packet || d.packet == c.packet && d.flow >= c.flow) {
		return false
	}
	*c = d
	return true
}

// crossingOf returns the crossing of one frame.
func (r *Site) crossingOf(frame *wire.Frame) crossing {
	return crossing{priorities: 1 << frame.Lane, longest: r.Model.Framing.Length(frame)}
}

// join adds the frames of d, and reports whether that makes a difference.
func (c *crossing) join(d *crossing) (more bool) {
	for p := range d.data {
		more = c.data[p].join(d.data[p]) || more
	}
	if more = more || c.priorities|d.priorities != c.priorities || d.longest > c.longest; more {
		c.priorities |= d.priorities
		c.longest = max(c.longest, d.longest)
	}
	return more
}

// some reports whether there are frames.
func (c *crossing) some() bool { return c.longest > 0 }

// crosser finds the links that frames may cross. An endpoint with one link sends to, and receives
// from, the switch at its end: frames that begin at one switch and end at another take the same
// paths between them, of whichever endpoints they are.
type crosser struct {
	*Site
	ends   []int                     // for each link the number of its end A
	pairs  map[int]map[int]*crossing // frames between two nodes, by the one where they end, by the one where they begin
	meshes []mesh
	lost   []Notice
}

// Notice is notifications from a switch to the source of a flow.
type Notice struct {
	At, To int
	Flow   string
}

// mesh is frames from each of some nodes to each of others.
type mesh struct {
	from  []int
	to    map[int]bool
	frame crossing
}

// Cross records the frames that may cross each link: data, the feedback of congestion control
// that an algorithm has a flow and its destination send, and notifications. It returns the
// notifications that would never arrive.
func (r *Site) Cross() []Notice {
	r.crossed = make([][2]crossing, len(r.Links))
	c := crosser{Site: r, pairs: map[int]map[int]*crossing{}}
	for i := range r.Links {
		c.ends = append(c.ends, r.Paths.Index[r.Links[i].A])
	}
	for i, of := range r.FlowOrigins[:r.Own] {
		k := r.Key(of.Index)
		c.sendFlow(&r.Flows[i], of, []int{k.Src}, []int{k.Dst})
	}
	for i, of := range r.WorkloadOrigins {
		members := r.MembersOf(&r.Workloads[i])
		c.sendFlow(&r.Flows[of.Index], of, members, members)
	}
	c.spread()
	return c.lost
}

// crossing returns the crossing of a link in the direction of a step from a node.
func (c *crosser) crossing(at int, step paths.Step) *crossing {
	if c.ends[step.Link] == at {
		return &c.crossed[step.Link][0]
	}
	return &c.crossed[step.Link][1]
}

// send records frames from each of some nodes to each of others: at once at the links of endpoints
// with one link.
func (c *crosser) send(from, to []int, frame crossing) {
	begins, ends := map[int]bool{}, map[int]bool{}
	for _, src := range from {
		at, link := c.Paths.Root(src)
		if at != src {
			c.crossing(src, paths.Step{Link: link.Link, To: at}).join(&frame)
		}
		begins[at] = true
	}
	for _, dst := range to {
		at, link := c.Paths.Root(dst)
		if at != dst {
			c.crossing(at, link).join(&frame)
		}
		ends[at] = true
	}
	if len(begins) > 1 && len(ends) > 1 {
		c.meshes = append(c.meshes, mesh{slices.Sorted(maps.Keys(begins)), ends, frame})
		return
	}
	for end := range ends {
		if c.pairs[end] == nil {
			c.pairs[end] = map[int]*crossing{}
		}
		for begin := range begins {
			if c.pairs[end][begin] == nil {
				c.pairs[end][begin] = new(crossing)
			}
			c.pairs[end][begin].join(&frame)
		}
	}
}

// spread records the frames at all links between the nodes where they begin and those where they
// end.
func (c *crosser) spread() {
	ends := map[int]bool{}
	for end := range c.pairs {
		ends[end] = true
	}
	for _, m := range c.meshes {
		maps.Copy(ends, m.to)
	}
	here := make([]crossing, len(c.Paths.Index)) // the frames that may reach each node on their way to one
	for end := range ends {
		var from []int
		begin := func(at int, frame *crossing) {
			if !here[at].some() {
				from = append(from, at)
			}
			here[at].join(frame)
		}
		for at, frame := range c.pairs[end] {
			begin(at, frame)
		}
		for i := range c.meshes {
			for _, at := range c.meshes[i].from {
				if c.meshes[i].to[end] && at != end {
					begin(at, &c.meshes[i].frame)
				}
			}
		}
		slices.Sort(from)
		reached := slices.Clone(from)
		c.Paths.Reach(from, end, func(at int, step paths.Step) bool {
			if !here[step.To].some() {
				reached = append(reached, step.To)
			}
			c.crossing(at, step).join(&here[at])
			return here[step.To].join(&here[at])
		})
		for _, at := range reached {
			here[at] = crossing{}
		}
	}
}

// sendFlow records the frames of a flow, or of flows like it from each of some endpoints to each of
// others, and the feedback about them.
func (c *crosser) sendFlow(f *Flow, of Origin, from, to []int) {
	family := c.FamilyOf(f.From)
	data := c.Frame(f, family)
	data.Lane = f.Priority
	frame := c.crossingOf(&data)
	frame.data[f.Priority] = carried{of.Index + 1, f.Packet}
	c.send(from, to, frame)
	if family != wire.Ethernet {
		return
	}
	if c.Algorithm(f).Answer != nil {
		probe, answer := c.algorithmFrames(f, &data)
		c.send(from, to, c.crossingOf(&probe))
		c.send(to, from, c.crossingOf(&answer))
	}
	switch p := f.Transport.Params.(type) {
	case nodes.RoCEParams:
		ack := p.LongestAck()
		c.send(to, from, c.crossingOf(&ack))
	case uet.Params:
		for _, answer := range []wire.Frame{p.LongestAck(), p.Control(wire.Ack, true)} {
			c.send(to, from, c.crossingOf(&answer))
		}
		probe := p.Control(wire.UETControl, false)
		c.send(from, to, c.crossingOf(&probe))
	case tcp.Params: // with all options that an ACK may have
		ack := wire.Frame{Lane: data.Lane}
		ack.SetSegment(&wire.Segment{Flags: wire.ACK,
			SACK: [wire.MaxSACK]wire.SACKBlock{{Right: 1}, {Right: 1}, {Right: 1}}})
		c.send(to, from, c.crossingOf(&ack))
	}
	c.notify(f, of, &data, from, to)
}

// algorithmFrames returns the frame that the algorithm of a flow has its source send for a data
// frame, and the answer.
func (r *Site) algorithmFrames(f *Flow, data *wire.Frame) (probe, answer wire.Frame) {
	if sends := rp.TraitsOf(f.Control.Params).Sends; sends != nil {
		return sends(data)
	}
	_, roce := f.Transport.Params.(nodes.RoCEParams)
	if algorithm := r.Algorithm(f); roce && algorithm.Feedback == rp.Marks && algorithm.Answer != nil {
		answer = wire.Frame{Kind: wire.CNP, Family: wire.RoCEv2, Lane: data.Lane}
		answer.SetRoCE(wire.RoCE{IPv6: data.RoCE().IPv6})
		return *data, answer
	}
	message := wire.Frame{Kind: wire.Message, Lane: data.Lane, Tagged: data.Tagged}
	return message, message
}

// notify records the notifications of switches that frames from some endpoints to others may reach.
// It refuses those of a switch that can never arrive.
func (c *crosser) notify(f *Flow, of Origin, data *wire.Frame, from, to []int) {
	notices := map[int]crossing{} // by switch
	for i := range c.Switches {
		s := &c.Switches[i]
		if p, ok := c.Point(s); ok && p.Notifier != nil {
			notice := wire.Frame{Kind: wire.Message, Lane: data.Lane, Tagged: data.Tagged}
			if longest := cp.TraitsOf(s.Marking.Params).Notice; longest != nil {
				notice = longest(data)
			}
			notices[i] = c.crossingOf(&notice)
		}
	}
	if len(notices) == 0 {
		return
	}
	sources := map[int][]int{} // by the node where their frames begin
	for _, src := range from {
		at, _ := c.Paths.Root(src)
		sources[at] = append(sources[at], src)
	}
	ends := map[int]bool{}
	for _, dst := range to {
		at, _ := c.Paths.Root(dst)
		ends[at] = true
	}
	for begin, sources := range sources {
		notified := map[int]bool{begin: true}
		for end := range ends {
			c.Paths.Reach([]int{begin}, end, once(func(step paths.Step) { notified[step.To] = true }))
		}
		for s := range notified {
			if notice, notifies := notices[s]; notifies {
				c.send([]int{s}, sources, notice)
				c.arrive(s, sources, f, of)
			}
		}
	}
}

// arrive records a notification that can never arrive.
func (c *crosser) arrive(s int, sources []int, f *Flow, of Origin) {
	for _, src := range sources {
		for _, qp := range []uint32{0, uint32(of.Index + FirstQP)} { // one with few octets has no queue pair
			if _, err := c.Paths.Visit(Key{Src: s, Dst: src, QP: qp}, func(int, paths.Step) {}); err != nil {
				c.lost = append(c.lost, Notice{s, src, f.Name})
				return
			}
		}
	}
}

// LargestFrom returns the same of those that may cross a link from its A (0) or its B (1).
func (s *Site) LargestFrom(link, side int) *Flow { return s.largestOf(&s.crossed[link][side]) }

// Longest returns the length of the longest frame that may cross a link from its A (0) or its B
// (1); 0: there is none.
func (s *Site) Longest(link, side int) unit.Size { return s.crossed[link][side].longest }

// Passes visits the switches that frames of a flow may reach.
func (s *Site) Passes(flow int, visit func(*Switch)) {
	s.passes(s.Key(flow), func(w *Switch, _ paths.Step) { visit(w) })
}
