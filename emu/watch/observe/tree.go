package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fabemu/emu/fabric"
	"fabemu/emu/metrics"
	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Output is a direction of a link, for one class of frames: a virtual lane, or with PFC a priority;
// 0 where flow control has no classes.
type Output struct {
	Hop   fabric.Hop
	Class uint8
}

// Stall is an output with waiting frames that flow control stops: the far end has no room.
type Stall struct {
	Output
	Block port.Block // NoCredit or Paused
	Since unit.Time  // -1: not known
	For   []Cause    // causes at the far end: the edges of the graph of waiting
}

// Cause is the holder of the room that a Stall waits for.
type Cause struct {
	Node   int    // the far end
	Ends   bool   // the node itself: an endpoint that takes frames in slowly, or pauses its peer, or a switch that has just made room
	Next   Output // else the output that the frames in that room wait for
	Frames int    // number of these frames; 0: not known
}

// Tree is all stalls that wait for one root, which waits for nothing.
type Tree struct {
	Root    Cause
	Stalls  []int // indices in Snapshot.Stalls, waiting for it directly or not
	Flows   []int // indices in Fabric.Flows, with something to send across one of these
	Victims []int // of these flows, the ones that do not go through the root
	Words   string
}

// hold records frames in a node that wait for an output, and keep room of an input.
type hold struct {
	node    int32
	in, out port.ID
	class   uint8
	block   port.Block
	since   unit.Time
	room    bool // there is room again: they keep no frame waiting
}

// waiting builds the graph of waiting.
type waiting struct {
	fabric  *fabric.Fabric
	stalls  map[Output]*Stall
	holders map[Output]map[Output]int // by output, the outputs that its room waits for, with numbers of frames
}

// classOf returns the class of a flow's data on a wire.
func classOf(f *fabric.Fabric, w *fabric.Flow, wire int) uint8 {
	if f.Wires[wire].Link.FlowControl.ByPriority() {
		return w.Priority
	}
	return 0
}

func (w *waiting) stall(o Output, b port.Block, since unit.Time) {
	if (b == port.NoCredit || b == port.Paused) && w.stalls[o] == nil {
		w.stalls[o] = &Stall{Output: o, Block: b, Since: since}
	}
}

func (w *waiting) keep(in, out Output, frames int) {
	if w.holders[in] == nil {
		w.holders[in] = map[Output]int{}
	}
	w.holders[in][out] += frames
}

// hold adds frames that wait in a switch.
func (w *waiting) hold(h *hold) {
	m := &w.fabric.Nodes[h.node]
	in, out := m.Ports[h.in], m.Ports[h.out]
	leaves := Output{out.Out(), h.class}
	if !h.room {
		w.keep(Output{in.In(), h.class}, leaves, 1)
	}
	w.stall(leaves, h.block, h.since)
}

// sources adds flows that are stopped at their sources.
func (w *waiting) sources(flows []metrics.FlowState) {
	for i := range flows {
		f := &w.fabric.Flows[i]
		w.stall(Output{f.Path.Hop, classOf(w.fabric, f, f.Path.Hop.Wire)}, flows[i].Block, -1)
	}
}

// follow adds switches without records of frames: the states of their ports, and the next outputs
// of the flows that cross them.
func (w *waiting) follow(ports func(fabric.Hop) *metrics.PortState, flows []metrics.FlowState) {
	for i := range flows {
		f := &w.fabric.Flows[i]
		if !flows[i].Active {
			continue
		}
		var before []Output
		for _, level := range w.fabric.Levels(f) {
			var outputs []Output
			for _, h := range level {
				o := Output{h, classOf(w.fabric, f, h.Wire)}
				for _, b := range before {
					if w.fabric.Wires[b.Hop.Wire].Ends[1-b.Hop.From].Node == w.fabric.Wires[h.Wire].Ends[h.From].Node {
						w.keep(b, o, 0)
					}
				}
				w.stall(o, ports(h).Keeps(o.Class), -1)
				outputs = append(outputs, o)
			}
			before = outputs
		}
	}
}

func byOutput(a, b Output) int {
	return cmp.Or(cmp.Compare(a.Hop.Wire, b.Hop.Wire), cmp.Compare(a.Hop.From, b.Hop.From),
		cmp.Compare(a.Class, b.Class))
}

// list returns the stalls with their causes, in the order of the wires.
func (w *waiting) list(stalls []Stall) []Stall {
	for _, o := range slices.SortedFunc(maps.Keys(w.stalls), byOutput) {
		s := w.stalls[o]
		far := w.fabric.Wires[o.Hop.Wire].Ends[1-o.Hop.From].Node
		for _, next := range slices.SortedFunc(maps.Keys(w.holders[o]), byOutput) {
			s.For = append(s.For, Cause{Node: far, Next: next, Frames: w.holders[o][next]})
		}
		if len(s.For) == 0 {
			s.For = []Cause{{Node: far, Ends: true}}
		}
		stalls = append(stalls, *s)
	}
	return stalls
}

// Trees finds the roots of stalls, which are in the order of the wires, and the stalls that wait
// for each.
func Trees(f *fabric.Fabric, stalls []Stall, flows []metrics.FlowState) (all []Tree) {
	at := map[Output]int{}
	for i := range stalls {
		at[stalls[i].Output] = i
	}
	waiters := make([][]int, len(stalls)) // by stall, the stalls that wait for it
	roots := map[Cause][]int{}            // by root
	var order []Cause
	for i := range stalls {
		for _, c := range stalls[i].For {
			if k, stalled := at[c.Next]; stalled && !c.Ends {
				waiters[k] = append(waiters[k], i)
				continue
			}
			c.Frames = 0
			if roots[c] == nil {
				order = append(order, c)
			}
			roots[c] = append(roots[c], i)
		}
	}
	for _, r := range order {
		t := Tree{Root: r}
		in := make([]bool, len(stalls))
		for next := roots[r]; len(next) > 0; {
			i := next[len(next)-1]
			next = next[:len(next)-1]
			if in[i] {
				continue
			}
			in[i] = true
			t.Stalls = append(t.Stalls, i)
			next = append(next, waiters[i]...)
		}
		slices.Sort(t.Stalls)
		for i := range flows {
			if !flows[i].Active {
				continue
			}
			waits, through := false, false
			for _, h := range slices.Concat(f.Levels(&f.Flows[i])...) {
				o := Output{h, classOf(f, &f.Flows[i], h.Wire)}
				k, stalled := at[o]
				waits = waits || stalled && in[k]
				through = through || !r.Ends && o == r.Next
			}
			if !waits {
				continue
			}
			t.Flows = append(t.Flows, i)
			if !through && (!r.Ends || f.Flows[i].Dst != r.Node) {
				t.Victims = append(t.Victims, i)
			}
		}
		t.Words = t.words(f)
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b Tree) int { return cmp.Compare(len(b.Flows), len(a.Flows)) })
	return all
}

// words names the root of t: "B's port to BC is the root; 7 flows wait; victim: victim".
func (t *Tree) words(f *fabric.Fabric) string {
	var b strings.Builder
	m := &f.Nodes[t.Root.Node]
	switch {
	case !t.Root.Ends:
		h := t.Root.Next.Hop
		fmt.Fprintf(&b, "%s's port to %s is the root", m.Name, f.Nodes[f.Wires[h.Wire].Ends[1-h.From].Node].Name)
	case m.Switch == nil:
		fmt.Fprintf(&b, "%s is the root: it takes frames in slowly, or pauses its peer", m.Name)
	default:
		fmt.Fprintf(&b, "%s has just made room", m.Name)
	}
	if n := len(t.Flows); n == 1 {
		b.WriteString("; 1 flow waits")
	} else if n > 1 {
		fmt.Fprintf(&b, "; %d flows wait", n)
	}
	const most = 5
	lead := "; victims: "
	if len(t.Victims) == 1 {
		lead = "; victim: "
	}
	for _, k := range t.Victims[:min(len(t.Victims), most)] {
		b.WriteString(lead + f.Flows[k].Name)
		lead = ", "
	}
	if more := len(t.Victims) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}
