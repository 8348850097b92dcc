package perfetto

import (
	"fmt"
	"io"
	"slices"

	"fabemu/emu/base/errs"
	"fabemu/emu/fabric"
	"fabemu/emu/result/report"
	"fabemu/emu/run/drive"
	"fabemu/emu/scenario"
	"fabemu/wire"
	"fabemu/wire/port"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Request is a request for a trace: the part of the run, and the writer.
type Request struct {
	To io.Writer
	// From and Until are the part of the run that is traced, in model time; Until 0 is its
	// end. Frames that begin there are.
	From, Until unit.Time
	// Trace only counters: queues, buffers, credit, rates.
	Counters bool `flag:"perfetto-counters" group:"Perfetto trace" needs:"perfetto"`
	// Draw arrows from hop to hop for the frames of this flow.
	Follow string `flag:"perfetto-follow" arg:"FLOW" needs:"perfetto"`
}

// lanes is how many virtual lanes or priorities a port has at most.
const lanes = 16

// Trace writes the trace of a run: it is a trace.Sink for the reports of nodes, and a
// drive.Tap for the times at which frames really left. It belongs to the goroutine of the run.
type Trace struct {
	out    *packets
	fabric *fabric.Fabric
	q      Request

	tracks uint64 // how many there are
	ports  [][]portState
	flows  map[uint32]*flowState
	others []uint64 // tracks for events of no port and no flow, by node
	follow uint32   // the flow that is followed, or 0

	opened, closed bool      // the traced part of the run
	last           unit.Time // of the latest event: measured, it may be after the end of the run
	next           drive.Tap
	notes          []note // of the event being written
}

// portState is the state of a port. A track that is 0 has not been declared.
type portState struct {
	name  string // the direction of the link that leaves there
	unit  string // of the content of its buffer
	rate  unit.Rate
	ends  unit.Time // of the last slice on its link
	line  uint64
	pace  uint64
	lanes [lanes]laneState
}

type laneState struct {
	waits, storm          wait
	queue, buffer, credit counter
}

type flowState struct {
	name, ack    string // the names of its data and ACKs
	title        string // of its track
	node         int32  // of its source
	waits        wait   // on its track
	rate, target counter
}

// counter is a counter and its value, which is written when it changes.
type counter struct {
	track uint64
	value int64
	known bool
}

// wait is a track for the causes of waiting, or for storms that a watchdog has found.
type wait struct {
	track uint64
	cause string // the present one; empty: there is none
	open  bool   // a slice of it has begun
}

// New begins the trace of a run of f. An error can be corrected by the user.
func New(f *fabric.Fabric, q Request) (*Trace, error) {
	t := &Trace{out: newPackets(q.To), fabric: f, q: q, flows: map[uint32]*flowState{},
		others: make([]uint64, len(f.Nodes))}
	if q.Until == 0 {
		t.q.Until = unit.Never
	}
	if end := unit.Time(f.Scenario.Model.Duration); t.q.From >= min(t.q.Until, end) {
		return nil, errs.Errorf("a trace from %v to %v: it must start before it ends, and before the run ends, at %v",
			q.From, t.q.Until, end)
	}
	for i := range f.Flows {
		w := &f.Flows[i]
		t.flows[w.QP] = &flowState{name: w.Name, ack: wire.Ack.String() + " " + w.Name, title: "flow " + w.Name,
			node: int32(w.Src)}
		if w.Name == q.Follow {
			t.follow = w.QP
		}
	}
	if q.Follow != "" && t.follow == 0 {
		return nil, errs.Errorf("trace: %q is not a flow of this scenario; it has %s and others",
			q.Follow, f.Flows[0].Name)
	}
	for i := range f.Nodes {
		m := &f.Nodes[i]
		t.tracks++
		t.out.Process(t.tracks, m.Name)
		ports := make([]portState, len(m.Ports))
		for k, p := range m.Ports {
			w := &f.Wires[p.Wire]
			ports[k] = portState{name: f.LinkName(p.Out()), unit: "blocks",
				rate: w.Link.Rate}
			if w.Link.Family() == wire.Ethernet {
				ports[k].unit = "bytes"
			}
		}
		t.ports = append(t.ports, ports)
	}
	return t, nil
}

// process is the track of a node.
func process(node int32) uint64 { return uint64(node) + 1 }

// Record takes an event in.
func (t *Trace) Record(e *trace.Event) {
	if t.closed || t.out.err != nil {
		return
	}
	if !t.opened && e.At >= t.q.From {
		t.open()
	}
	if e.At >= t.q.Until {
		t.close(t.q.Until)
		return
	}
	t.last = max(t.last, e.At)
	t.update(e)
	if t.opened && !t.q.Counters {
		t.write(e)
	}
}

// Close ends the trace of a run that ended at an instant, with the changes of its scenario by
// events.
func (t *Trace) Close(at unit.Time, changes []scenario.Change) error {
	if !t.opened && at >= t.q.From {
		t.open()
	}
	end := min(max(at, t.last), t.q.Until)
	t.close(end)
	if t.opened && !t.q.Counters {
		t.changes(changes, end)
	}
	return t.out.Close()
}

// changes writes the events of the scenario up to an instant: faults as slices from their begin to
// their end, the faults of one object on their own track, and other events as instants.
func (t *Trace) changes(all []scenario.Change, end unit.Time) {
	if len(all) == 0 {
		return
	}
	t.tracks++
	process := t.tracks
	t.out.Process(process, "faults and events")
	tracks := map[string]uint64{}
	track := func(of, name string) uint64 {
		if tracks[of] == 0 {
			t.tracks++
			tracks[of] = t.tracks
			t.out.Track(t.tracks, process, name)
		}
		return tracks[of]
	}
	for i := range all {
		c := &all[i]
		over := all[i+1:]
		last := slices.IndexFunc(over, func(x scenario.Change) bool { return x.Settles(c) })
		until := end
		if last >= 0 {
			until = min(until, over[last].At)
		}
		switch {
		case c.At >= end || c.Ends || until <= t.q.From:
		case c.Fault != "":
			id := track(c.Fault, c.What)
			t.out.Event(&event{At: stamp(max(c.At, t.q.From)), Kind: sliceBegin, Track: id, Name: c.What})
			t.out.Event(&event{At: stamp(until), Kind: sliceEnd, Track: id})
		case c.At >= t.q.From:
			t.out.Event(&event{At: stamp(c.At), Kind: instant, Track: track("", "events"), Name: c.What})
		}
	}
}

// open begins the traced part with the state of the events before it.
func (t *Trace) open() {
	t.opened = true
	t.states(func(w *wait) { t.begin(t.q.From, w) }, func(c *counter) {
		if c.known {
			t.out.Event(&event{At: stamp(t.q.From), Kind: count, Track: c.track, Value: c.value})
		}
	})
}

// close ends the open slices.
func (t *Trace) close(at unit.Time) {
	if t.opened && !t.closed {
		t.states(func(w *wait) { t.end(at, w) }, func(*counter) {})
	}
	t.closed = true
}

// states calls functions for all that has a state, in a fixed order.
func (t *Trace) states(waits func(*wait), counts func(*counter)) {
	for m := range t.ports {
		for i := range t.ports[m] {
			for l := range t.ports[m][i].lanes {
				s := &t.ports[m][i].lanes[l]
				waits(&s.waits)
				waits(&s.storm)
				counts(&s.queue)
				counts(&s.buffer)
				counts(&s.credit)
			}
		}
	}
	for i := range t.fabric.Flows {
		s := t.flows[t.fabric.Flows[i].QP]
		waits(&s.waits)
		counts(&s.rate)
		counts(&s.target)
	}
}

// update keeps the state that an event reports, and writes its changes.
func (t *Trace) update(e *trace.Event) {
	p, flow := t.port(e), t.flows[e.Flow]
	var lane *laneState
	if p != nil && e.Lane < lanes {
		lane = &p.lanes[e.Lane]
	}
	switch e.Kind {
	case trace.Queue:
		if lane != nil {
			t.count(e, &lane.queue, e.B, p, "queue", "bytes")
		}
	case trace.Arrive:
		if kind, _, _ := trace.FrameOf(e.A); lane != nil && !kind.Control() {
			t.count(e, &lane.buffer, e.Occupancy(), p, "buffer", p.unit)
		}
	case trace.Release:
		if lane != nil {
			t.count(e, &lane.buffer, e.Occupancy(), p, "buffer", p.unit)
		}
	case trace.Start:
		if lane != nil && e.B >= 0 && p.unit == "blocks" {
			t.count(e, &lane.credit, e.B, p, "credit", "blocks")
		}
	case trace.Feedback:
		if flow != nil && e.B > 0 {
			t.flowCount(e, &flow.rate, e.B, flow, "rate")
		}
	case trace.Limit:
		if flow != nil {
			t.flowCount(e, &flow.rate, e.A, flow, "rate")
			t.flowCount(e, &flow.target, e.B, flow, "target")
		}
	case trace.Control:
		if p != nil && port.ChangeKind(e.A) == (port.RateChange{}).Kind() {
			p.rate = unit.Rate(e.B)
		}
	case trace.Stall:
		switch {
		case t.q.Counters:
		case flow != nil:
			t.change(e, &flow.waits, waiting(e), flow.node, func() string { return flow.title })
		case lane != nil:
			t.change(e, &lane.waits, waiting(e), e.Node, func() string { return fmt.Sprintf("%s waits, lane %d", p.name, e.Lane) })
		}
	case trace.Watchdog:
		if lane != nil && !t.q.Counters {
			cause := ""
			if e.A == 1 {
				cause = "storm"
			}
			t.change(e, &lane.storm, cause, e.Node, func() string { return fmt.Sprintf("%s watchdog, lane %d", p.name, e.Lane) })
		}
	}
}

// write writes the slice or the instant of an event.
func (t *Trace) write(e *trace.Event) {
	switch e.Kind {
	case trace.Start:
		t.frame(e)
		return
	case trace.Stall, trace.Arrive, trace.Release, trace.Queue, trace.Limit:
		return // states
	case trace.Deliver:
		if t.follow == 0 || e.Flow != t.follow {
			return
		}
	case trace.Feedback:
		if kind, _, becn := trace.FrameOf(e.A); kind == wire.Ack && !becn {
			return // its frame shows the same
		}
	}
	x := event{At: stamp(e.At), Kind: instant, Name: e.Kind.String(), Notes: t.notesOf(e)}
	switch flow := t.flows[e.Flow]; {
	case e.Kind == trace.Deliver:
		x.Track, x.LastFlow = t.track(&t.others[e.Node], e.Node, "node"), arrow(e)
	case e.HasPort() && t.port(e) != nil:
		x.Track = t.track(&t.port(e).line, e.Node, t.port(e).name)
	case flow != nil:
		x.Track = t.track(&flow.waits.track, flow.node, flow.title)
	default:
		x.Track = t.track(&t.others[e.Node], e.Node, "node")
	}
	t.out.Event(&x)
}

// frame writes a frame that begins on a link.
func (t *Trace) frame(e *trace.Event) {
	p := t.port(e)
	if p == nil {
		return
	}
	kind, _, _ := trace.FrameOf(e.A)
	x := event{Kind: sliceBegin, Track: t.track(&p.line, e.Node, p.name), Name: kind.String(), Notes: t.notesOf(e)}
	if flow := t.flows[e.Flow]; flow != nil {
		switch kind {
		case wire.Data:
			x.Name = flow.name
			if e.Flow == t.follow {
				x.Flow = arrow(e)
			}
		case wire.Ack:
			x.Name = flow.ack
		}
	}
	// Under actual timing a node may start a frame before its line is
	// really free after the last one.
	begin := max(e.At, p.ends)
	p.ends = begin.Add(p.rate.Serialise(unit.Size(e.Bytes)))
	x.At = stamp(begin)
	if stamp(p.ends) == x.At {
		x.Kind = instant
		t.out.Event(&x)
		return
	}
	t.out.Event(&x)
	t.out.Event(&event{At: stamp(p.ends), Kind: sliceEnd, Track: x.Track})
}

// arrow numbers the arrows of a packet.
func arrow(e *trace.Event) uint64 { return uint64(e.Flow)<<32 | uint64(e.PSN) }

// notesOf returns the details of an event.
func (t *Trace) notesOf(e *trace.Event) []note {
	t.notes = t.notes[:0]
	fields := e.Kind.Fields()
	for i := range fields {
		f := &fields[i]
		v, present := f.Of(e)
		if !present {
			continue
		}
		t.notes = append(t.notes, note{Key: f.Key, Value: v, Text: report.Word(f.Form, v)})
	}
	return t.notes
}

// count writes a counter of a port whose value has changed.
func (t *Trace) count(e *trace.Event, c *counter, v int64, p *portState, name, unit string) {
	t.set(e, c, v, e.Node, unit, func() string { return fmt.Sprintf("%s %s, lane %d", p.name, name, e.Lane) })
}

// flowCount writes a counter of a flow whose value has changed.
func (t *Trace) flowCount(e *trace.Event, c *counter, v int64, f *flowState, name string) {
	t.set(e, c, v, f.node, "bit/s", func() string { return f.title + " " + name })
}

func (t *Trace) set(e *trace.Event, c *counter, v int64, node int32, unit string, name func() string) {
	if c.known && c.value == v {
		return
	}
	if c.track == 0 {
		t.tracks++
		c.track = t.tracks
		t.out.Counter(c.track, process(node), name(), unit)
	}
	c.value, c.known = v, true
	if t.opened {
		t.out.Event(&event{At: stamp(e.At), Kind: count, Track: c.track, Value: v})
	}
}

// waiting returns the cause of waiting that a stall reports; empty where there is none, or the line
// itself shows it.
func waiting(e *trace.Event) string {
	switch b := port.Block(e.A); b {
	case port.Open, port.Idle, port.LinkBusy:
		return ""
	default:
		return b.String()
	}
}

// change records another cause of waiting, on a track of a node.
func (t *Trace) change(e *trace.Event, w *wait, cause string, node int32, name func() string) {
	if t.opened {
		t.end(e.At, w)
	}
	if w.cause = cause; cause == "" {
		return
	}
	if w.track == 0 {
		t.track(&w.track, node, name())
	}
	if t.opened {
		t.begin(e.At, w)
	}
}

// begin begins a slice for the cause of waiting, if there is one.
func (t *Trace) begin(at unit.Time, w *wait) {
	if w.cause != "" && w.track != 0 {
		t.out.Event(&event{At: stamp(at), Kind: sliceBegin, Track: w.track, Name: w.cause})
		w.open = true
	}
}

// end ends the slice, if there is one.
func (t *Trace) end(at unit.Time, w *wait) {
	if w.open {
		t.out.Event(&event{At: stamp(at), Kind: sliceEnd, Track: w.track})
		w.open = false
	}
}

// port returns the state of the port of an event, or nil.
func (t *Trace) port(e *trace.Event) *portState {
	if e.Node < 0 || int(e.Node) >= len(t.ports) || int(e.Port) >= len(t.ports[e.Node]) {
		return nil
	}
	return &t.ports[e.Node][e.Port]
}

// track returns a track of a node, which is declared where it is not yet.
func (t *Trace) track(id *uint64, node int32, name string) uint64 {
	if *id == 0 {
		t.tracks++
		*id = t.tracks
		t.out.Track(*id, process(node), name)
	}
	return *id
}

// stamp is an instant in nanoseconds, rounded down.
func stamp(t unit.Time) uint64 { return uint64(max(t, 0)) / uint64(unit.Nanosecond) }

// Tap returns a tap that traces the data frames that leave late, and hands everything on to
// next, which may be nil.
func (t *Trace) Tap(next drive.Tap) drive.Tap {
	t.next = next
	return t
}

// Sent takes in a frame that has left.
func (t *Trace) Sent(path int, x *port.Transmission, body wire.Body, now unit.Time, wall, late int64) {
	if t.next != nil {
		t.next.Sent(path, x, body, now, wall, late)
	}
	const tolerated = 20 // a part of the frame's duration
	taken := unit.Duration(x.Duration).Scale(t.fabric.Scenario.Wall.Dilation, int64(unit.Nanosecond))
	if x.Frame.Kind != wire.Data || late*tolerated <= int64(taken) || !t.opened || t.closed || t.q.Counters {
		return
	}
	end := t.fabric.Wires[path/2].Ends[path%2]
	p := &t.ports[end.Node][end.Port]
	track := t.track(&p.pace, int32(end.Node), p.name+" pace")
	t.out.Event(&event{At: stamp(x.Start), Kind: instant, Track: track, Name: "late",
		Notes: []note{{Key: "late_ns", Value: late}}})
}

// Received passes on a frame that has arrived.
func (t *Trace) Received(path int, a *port.Arrival, body wire.Body, now unit.Time, wall int64) {
	if t.next != nil {
		t.next.Received(path, a, body, now, wall)
	}
}
