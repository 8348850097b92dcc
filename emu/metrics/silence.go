package metrics

import (
	"cmp"
	"slices"

	"fabemu/emu/fabric"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// silentShare is the share of a run for which a flow that has something to send must have
// delivered nothing to be called silent: its mean over the run is off by as much.
const silentShare = 10 // a tenth

// Silence is a stretch of time in which a flow had something to send, or in flight, and
// nothing of it was delivered.
type Silence struct {
	Flow     int // index in Fabric.Flows
	From, To unit.Time
	Lasting  bool // until the end of the run

	// Block is the cause that kept the flow, as far as it can be found. For a silence that lasts it
	// is the cause at the end. For another it is a link that was down in the middle of it, an
	// output on its path that flow control stopped for most of it, or the cause that kept its
	// source for the longest. Open or Idle: no cause was found.
	Block port.Block
	By    *fabric.Hop // the last output on the path of the flow that was kept; nil: its source
	Limit unit.Rate   // RateLimited: the rate of the limiter

	// Lost is where, and why, most of the frames were dropped that the flow has sent meanwhile.
	// Without a Count none were.
	Lost Loss
	// Dropped reports that this is the cause: its source could send, and so Block says only what
	// its rate was.
	Dropped bool
}

// copy copies lost frames. It uses the memory of earlier ones again.
func (x *lost) copy(to lost) lost { return lost{x.last, append(to.at[:0], x.at...)} }

// lost are the frames of a flow that were dropped since it last delivered something, by place and
// reason.
type lost struct {
	last unit.Time // when the last of them was
	at   []Loss
}

// add counts a drop of a flow that last delivered something at an instant.
func (x *lost) add(e *trace.Event, delivered unit.Time) {
	if x.last <= delivered {
		x.at = x.at[:0]
	}
	x.last = max(x.last, e.At)
	l := Loss{int(e.Node), port.ID(e.Port), trace.Reason(e.A), 1}
	for i := range x.at {
		if y := &x.at[i]; y.Node == l.Node && y.Port == l.Port && y.Reason == l.Reason {
			y.Count++
			return
		}
	}
	x.at = append(x.at, l)
}

// most returns the place and reason with the most drops since an instant. A receiver that discards
// what is not in turn does so because of another drop.
func (x *lost) most(since unit.Time) (most Loss) {
	if x.last <= since {
		return Loss{}
	}
	for _, l := range x.at {
		if follows := l.Reason == trace.NotInTurn; most.Count == 0 || follows == (most.Reason == trace.NotInTurn) && l.Count > most.Count ||
			!follows && most.Reason == trace.NotInTurn {
			most = l
		}
	}
	return most
}

// Patience returns for how long a flow must have delivered nothing to be silent: a tenth of the
// scenario, and at least twice the time that a packet takes on the longest path.
func (v *View) Patience() unit.Duration { return v.c.patience }

// longestSilence computes the patience of a run.
func (c *Collector) longestSilence() unit.Duration {
	f := c.fabric
	longest := unit.Duration(0)
	for i := range f.Flows {
		path := unit.Duration(0)
		for _, h := range f.Flows[i].Path.All() {
			w := &f.Wires[h.Wire]
			slowest := slices.MinFunc(c.capacities[h.Wire], func(a, b capacity) int { return cmp.Compare(a.rate, b.rate) })
			path += w.Link.Propagation + slowest.rate.Serialise(f.Flows[i].Packet)
			if s := f.Nodes[w.Ends[1-h.From].Node].Switch; s != nil {
				path += s.ForwardingDelay
			}
		}
		longest = max(longest, path)
	}
	return max(c.scenario.Model.Duration/silentShare, 2*longest)
}

// Silences returns when flows were silent: first the times that last to the end, then of each flow
// the longest of those that are over.
func (v *View) Silences() []Silence {
	var all []Silence
	for i := range v.Flows {
		if f := &v.Flows[i]; f.Active && v.Until().Sub(f.Since) >= v.c.patience {
			all = append(all, Silence{Flow: i, From: f.Since, To: v.Until(), Lasting: true, Lost: v.c.lives[i].lost.most(f.Since)})
		}
	}
	over := slices.Clone(v.c.silences)
	slices.SortFunc(over, func(a, b Silence) int {
		return cmp.Or(cmp.Compare(a.Flow, b.Flow), cmp.Compare(b.To-b.From, a.To-a.From))
	})
	all = append(all, slices.CompactFunc(over, func(a, b Silence) bool { return a.Flow == b.Flow })...)
	kept := map[source]port.Block{}
	for i := range v.Flows {
		if b := v.Flows[i].Block; b == port.NoCredit || b == port.Paused || b == port.Down {
			kept[v.c.source(i)] = b
		}
	}
	for i := range all {
		v.explain(&all[i], kept)
	}
	return all
}

// source is where flows wait for each other: an endpoint, and a priority.
type source struct {
	node     int
	priority uint8
}

func (c *Collector) source(flow int) source {
	f := &c.fabric.Flows[flow]
	return source{f.Src, f.Priority}
}

// explain finds the cause that keeps a silent flow; kept has the causes that keep sources at the
// end.
func (v *View) explain(s *Silence, kept map[source]port.Block) {
	at, longest := v.c.ofFlows+s.Flow*flowColumns, 0.
	for b := range port.Block(port.Blocks) {
		if d := v.c.grown(at+flowStall+int(b), s.From, s.To); d > longest {
			s.Block, longest = b, d
		}
	}
	f, when := &v.c.fabric.Flows[s.Flow], s.From+(s.To-s.From)/2
	hops := slices.Concat(v.c.fabric.Levels(f)...) // of all paths that its packets may take
	if s.Lasting {
		when, s.Block = s.To, v.Flows[s.Flow].Block
		if b, ok := kept[v.c.source(s.Flow)]; ok && s.Block == port.LinkBusy { // by a flow that is kept
			s.Block = b
		}
		if n := len(f.Later); n > 0 {
			hops = f.Later[n-1].Hops()
		}
	}
	for _, h := range slices.Backward(hops) {
		b := port.Down
		switch {
		case v.c.isDown(h.Wire, when):
		case s.Lasting:
			b = v.keeps(h, f.Priority)
		default:
			b = v.stopped(h, f.Priority, s.From, s.To)
		}
		if b != port.Open {
			s.Block, s.By = b, &h
			break
		}
	}
	switch s.Block {
	case port.Open, port.Idle, port.LinkBusy, port.CrossbarBusy, port.RateLimited: // it sends
		s.Dropped = s.Lost.Count > 0
	}
	if s.Block == port.RateLimited && !s.Dropped {
		s.Limit = v.Flows[s.Flow].Limit
	}
}

// keeps returns the cause that keeps an output from sending frames of a priority at the end of the
// run, if it lies at the other end of its link.
func (v *View) keeps(h fabric.Hop, priority uint8) port.Block {
	p := v.sender(h)
	if p.Paused>>priority&1 == 1 {
		return port.Paused
	}
	if b := p.Keeps(priority); b == port.Paused || b == port.NoCredit {
		return b
	}
	return port.Open
}

// sender returns the state of the port that sends into a link.
func (v *View) sender(h fabric.Hop) *PortState {
	end := v.c.fabric.Wires[h.Wire].Ends[h.From]
	return v.Port(end.Node, end.Port)
}

// stopped returns the flow control that kept an output for most of a time, if it kept frames of a
// priority. PFC counts all priorities of an output together, and has no counters by priority.
func (v *View) stopped(h fabric.Hop, priority uint8, from, to unit.Time) port.Block {
	most, out := float64(to-from)/2, v.c.out(h)
	if v.c.grown(out+outStall+int(port.NoCredit), from, to) > most {
		return port.NoCredit
	}
	if v.c.grown(out+outPaused, from, to) <= most {
		return port.Open
	}
	together := v.c.fabric.Wires[h.Wire].Link.FlowControl == port.PauseFrames
	for i := range v.c.fabric.Flows {
		if f := &v.c.fabric.Flows[i]; !together && f.Priority != priority && slices.Contains(f.Path.Hops(), h) {
			return port.Open
		}
	}
	return port.Paused
}

// isDown reports whether a link is down just before an instant.
func (c *Collector) isDown(wire int, when unit.Time) (down bool) {
	l, last := c.fabric.Wires[wire].Link, unit.Duration(-1)
	becomes := func(is bool, at unit.Duration) {
		if at >= last && at < unit.Duration(when) {
			down, last = is, at
		}
	}
	for i := range c.scenario.Events {
		e := &c.scenario.Events[i]
		x := e.Touches(l)
		if x.Down || x.Up {
			becomes(x.Down, e.At)
		}
		if x.Until > 0 {
			becomes(false, x.Until)
		}
	}
	return down
}
