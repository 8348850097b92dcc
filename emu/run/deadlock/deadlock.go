package deadlock

import (
	"cmp"
	"iter"
	"slices"

	"fabemu/wire/port"
	"fabemu/wire/unit"
)

// Waiter is a node that holds frames for others, a switch, and can report the outputs that
// they wait for.
type Waiter interface {
	// Waits yields each frame that waits for an output: its input, its output, and the cause that
	// keeps that output. If yield returns false, it needs no other frame with the same cause; it
	// may get them all the same.
	Waits(now unit.Time, yield func(port.Wait) bool)
}

// Expecter is a node at which something may happen without a frame: an endpoint.
type Expecter interface {
	// Expects returns when that will be at the soonest: a packet comes to be sent, or one
	// is taken in. A packet that flow control keeps does not count. unit.Never:
	// nothing will happen unless a frame comes.
	Expects(now unit.Time) unit.Time
}

// Watch has a driver look for deadlock: outputs that wait for each other in a
// cycle, each for room that only the next one could make. Nothing in the fabric
// ends that.
//
// A look costs as much as there are frames in the switches, so the watcher looks at intervals of
// model time. An output counts as waiting when it has waited for a whole interval, which should be
// longer than any timer of the fabric. Under credit, flow control packets go on forever and mean
// nothing; within an interval one has come, and has not helped. The last look is at the end of the
// run, which may be shorter than an interval: there an output counts if it has waited for as long
// as the report takes that there is room. If nodes are in several processes, each reports the
// frames that wait in its own (Waits), and a Merged puts the reports together.
type Watch struct {
	Every unit.Duration // positive
	Word  unit.Duration // from when there is room until the sender has the report, at most
	// Idle ends the run when there is a deadlock, or it Drains, and nothing but flow control has
	// moved for so long, and no node expects anything. It counts from Settled, and from the last of
	// the changes. 0: the run continues.
	Idle    unit.Duration
	Settled unit.Time // all flows have begun
	Drains  bool      // the run is over when all that arrived has been delivered

	Found []Deadlock // deadlocks, each cycle once
	Ended unit.Time  // when the run was ended because nothing else could happen; 0: it was not
	// Lasts: at the latest look, such as that at the end, a deadlock lasted since it was found. One
	// that was broken, and has formed again, does not count: what breaks it is still there.
	Lasts bool
}

// Deadlock is a cycle of outputs: each waits for the next, and the last for the first.
type Deadlock struct {
	At    unit.Time // when it was found
	Cycle []Waiting
}

// Waiting is an output that waits for room at the other end of its link.
type Waiting struct {
	From  port.End   // the output
	To    port.End   // the input whose memory has no room for it
	Class uint8      // virtual lane, or priority
	Block port.Block // NoCredit or Paused
	Since unit.Time
}

// output names a waiting output: one for each class.
type output struct {
	port.End
	class uint8
}

// Detector looks for deadlock in a fabric.
type Detector struct {
	*Watch
	waiters   []Waiter // by node; nil: nothing waits in it
	expecters []Expecter
	peer      map[port.End]port.End
	end       unit.Time // of the run
	changed   unit.Time // the last of the changes from outside
	waits     map[output]*waits
	named     map[output]unit.Time // outputs of the cycles that were found, and since when they waited
	wait      unit.Duration        // for which an output must have waited
	next      unit.Time
	moved     unit.Time // when something but flow control was last handed over
	carried   int64     // frames that had been handed over when it last looked
	stuck     bool      // when it last looked there was a deadlock

	ask func(yield func(port.Wait) bool) // has each node yield the frames that wait in it

	// While it looks:
	now           unit.Time
	node          int                  // which is being asked
	some          bool                 // something has waited for long
	holders       map[input][]output   // outputs that keep the memory of an input
	free          []*waits             // not stuck; outputs that they keep are not, either
	glance, write func(port.Wait) bool // made once: to look is not to allocate
}

// waits is an output that waits.
type waits struct {
	Waiting
	holders []output // outputs that keep the memory at To
	held    []*waits // outputs that this one keeps
	stuck   bool
}

// New returns a watcher of nodes that are joined by wires. The run ends at end, and changed is the
// instant of the last of its changes. It is nil without a watch.
func New[M any](watch *Watch, nodes []M, wires [][2]port.End, end, changed unit.Time) *Detector {
	if watch == nil {
		return nil
	}
	w := &Detector{
		Watch: watch, waiters: make([]Waiter, len(nodes)), peer: map[port.End]port.End{}, end: end, changed: changed,
		waits: map[output]*waits{}, named: map[output]unit.Time{}, holders: map[input][]output{}, wait: watch.Every,
	}
	for i, m := range nodes {
		w.waiters[i], _ = any(m).(Waiter)
		if e, ok := any(m).(Expecter); ok {
			w.expecters = append(w.expecters, e)
		}
	}
	w.next, w.ask = w.after(0), w.askNodes
	w.glance = func(p port.Wait) bool { w.some = w.some || w.long(&p); return false }
	w.write = w.note
	for _, ends := range wires {
		w.peer[ends[0]], w.peer[ends[1]] = ends[1], ends[0]
	}
	return w
}

// Next returns the instant at which to look next, when all else of that instant has happened.
func (w *Detector) Next() unit.Time { return w.next }

// Change has the watcher look at other intervals from now on, if watch is not nil. The last of the
// changes is at changed.
func (w *Detector) Change(watch *Watch, changed unit.Time) {
	if w.changed = changed; watch != nil {
		w.Every, w.Word, w.Idle = watch.Every, watch.Word, watch.Idle
		w.wait = w.Every
	}
}

// after returns when to look after t: at intervals, and just before the run ends.
func (w *Detector) after(t unit.Time) unit.Time {
	next, last := t.Add(w.Every), w.end-1
	if t < last && next > last {
		w.wait = w.Word
		return last
	}
	return next
}

// input names the memory of an input: one for each class.
type input struct {
	port.End
	class uint8
}

// Look looks for deadlocks at Next, moves that on, and returns those that are new. Mostly nothing
// has waited for long, and there is nothing to write down.
func (w *Detector) Look() (found []Deadlock) {
	if w.stuck, w.Lasts = false, false; w.waited() {
		clear(w.waits)
		clear(w.holders)
		w.ask(w.write)
		for _, o := range w.waits {
			o.holders = w.holders[input{o.To, o.Class}]
		}
		w.release()
		found = w.cycles()
	}
	w.next = w.after(w.now)
	return found
}

// waited reports whether an output has waited for long at Next, which is now from then on.
func (w *Detector) waited() bool {
	w.now, w.some = w.next, false
	w.ask(w.glance)
	return w.some
}

// askNodes has each node of the fabric yield the frames that wait in it.
func (w *Detector) askNodes(yield func(port.Wait) bool) {
	for m, waiter := range w.waiters {
		if waiter != nil {
			w.node = m
			waiter.Waits(w.now, yield)
		}
	}
}

// long reports whether the output of a wait has waited for long enough.
func (w *Detector) long(p *port.Wait) bool {
	return (p.Block == port.NoCredit || p.Block == port.Paused) && w.now.Sub(p.Since) >= w.wait
}

// note writes down a frame that waits in the node which is being asked.
func (w *Detector) note(p port.Wait) bool {
	out := output{port.End{Node: w.node, Port: p.Out}, p.Class}
	in := input{port.End{Node: w.node, Port: p.In}, p.From}
	if !p.Room && !slices.Contains(w.holders[in], out) { // with room it makes no port wait
		w.holders[in] = append(w.holders[in], out)
	}
	if w.long(&p) && w.waits[out] == nil {
		w.waits[out] = &waits{Waiting: Waiting{From: out.End, To: w.peer[out.End], Class: p.Class, Block: p.Block, Since: p.Since}}
	}
	return true
}

// release takes out the outputs that can still go on: those for which some frame makes room
// that leaves by an output which is not stuck. Each is freed once, and then frees those that it
// keeps: a long chain is freed from its end on.
func (w *Detector) release() {
	free := w.free[:0]
	for _, o := range w.waits {
		o.stuck = len(o.holders) > 0
		for _, h := range o.holders {
			if n := w.waits[h]; n != nil {
				n.held = append(n.held, o)
			} else {
				o.stuck = false
			}
		}
		if !o.stuck {
			free = append(free, o)
		}
	}
	for len(free) > 0 {
		last := free[len(free)-1]
		free = free[:len(free)-1]
		for _, o := range last.held {
			if o.stuck {
				o.stuck = false
				free = append(free, o)
			}
		}
	}
	w.free = free
}

// cycles follows those that are stuck, the lowest first, to the cycles in which they
// end.
func (w *Detector) cycles() (found []Deadlock) {
	var stuck []output
	for k, o := range w.waits {
		if o.stuck {
			stuck = append(stuck, k)
		}
	}
	order := func(a, b output) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.class, b.class))
	}
	slices.SortFunc(stuck, order)
	w.stuck = len(stuck) > 0
	for _, start := range stuck {
		var chain []output
		at := start
		for !slices.Contains(chain, at) {
			chain = append(chain, at)
			at = slices.MinFunc(w.waits[at].holders, order)
		}
		cycle := chain[slices.Index(chain, at):]
		if slices.ContainsFunc(cycle, func(o output) bool { _, named := w.named[o]; return named }) {
			w.Lasts = w.Lasts || !slices.ContainsFunc(cycle, func(o output) bool { return w.named[o] != w.waits[o].Since })
			continue
		}
		d := Deadlock{At: w.now}
		w.Lasts = true
		for _, o := range cycle {
			w.named[o] = w.waits[o].Since
			d.Cycle = append(d.Cycle, w.waits[o].Waiting)
		}
		found = append(found, d)
	}
	w.Found = append(w.Found, found...)
	return found
}

// Over reports whether nothing else can happen after a look, when this many frames that are not
// flow control have been handed over.
func (w *Detector) Over(carried int64) bool { return w.over(carried, w.expects) }

// over asks at most once whether a node expects something.
func (w *Detector) over(carried int64, expects func() bool) bool {
	t := w.now
	if carried != w.carried || w.changed > t {
		w.carried, w.moved = carried, t
	}
	if w.next < w.end && w.Idle > 0 && (w.stuck || w.Drains) && t.Sub(max(w.moved, w.Settled)) >= w.Idle && !expects() {
		w.Ended = t
		return true
	}
	return false
}

// expects reports whether something will happen to some node by itself.
func (w *Detector) expects() bool {
	return slices.ContainsFunc(w.expecters, func(e Expecter) bool { return e.Expects(w.now) != unit.Never })
}

// Outputs yields the outputs of the deadlocks that one look has found, with their numbers, in the
// order in which their nodes receive the report.
func Outputs(found []Deadlock) iter.Seq2[int, Waiting] {
	return func(yield func(int, Waiting) bool) {
		n := 0
		for _, d := range found {
			for _, p := range d.Cycle {
				if !yield(n, p) {
					return
				}
				n++
			}
		}
	}
}

// Waits is the report of a part of a fabric on its nodes at an instant of the watch.
type Waits struct {
	At      unit.Time
	Carried int64 // frames that were handed over in it, flow control aside
	Expects bool  // something will happen to one of its nodes by itself (Expecter)
	// Frames are those that wait, one for each input, output and class, in that order; none if no
	// output has waited for long, for then nothing there can be in a cycle.
	Frames []Held
}

// Held is a frame that waits in a node.
type Held struct {
	Node int
	port.Wait
}

// Compare orders waiting frames: those that it takes for equal hold the same memory for the same
// output.
func (a Held) Compare(b Held) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.In, b.In), cmp.Compare(a.Out, b.Out), cmp.Compare(a.Class, b.Class),
		cmp.Compare(a.From, b.From))
}

// Report returns the frames that wait in the nodes at Next, and moves Next on. carried is the
// number of frames that have been handed over, without flow control.
func (w *Detector) Report(carried int64) Waits {
	out := Waits{At: w.next, Carried: carried}
	if w.waited() {
		w.ask(func(p port.Wait) bool {
			out.Frames = append(out.Frames, Held{w.node, p})
			return true
		})
		slices.SortStableFunc(out.Frames, Held.Compare)
		out.Frames = slices.CompactFunc(out.Frames, func(a, b Held) bool { return a.Compare(b) == 0 })
	}
	out.Expects, w.next = w.expects(), w.after(w.now)
	return out
}

// Merged looks for deadlock in a fabric whose nodes are in parts, by the reports of the parts.
type Merged struct{ w *Detector }

// NewMerged returns the lookout of a fabric, as New does; watch takes the deadlocks.
func NewMerged(watch *Watch, wires [][2]port.End, end, changed unit.Time) *Merged {
	return &Merged{New[Waiter](watch, nil, wires, end, changed)}
}

// Next returns the next instant at which to look, and whether there is one.
func (l *Merged) Next() (unit.Time, bool) { return l.w.next, l.w.next < l.w.end }

// Look looks for deadlock at Next, in the reports of the parts at that instant. It returns the new
// deadlocks, and whether nothing else can happen.
func (l *Merged) Look(reports []Waits) (found []Deadlock, over bool) {
	w, carried, expects := l.w, int64(0), false
	w.ask = func(yield func(port.Wait) bool) {
		for i := range reports {
			for _, x := range reports[i].Frames {
				w.node = x.Node
				yield(x.Wait)
			}
		}
	}
	found = w.Look()
	for i := range reports {
		carried += reports[i].Carried
		expects = expects || reports[i].Expects
	}
	return found, w.over(carried, func() bool { return expects })
}
