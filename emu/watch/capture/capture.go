package capture

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"fabemu/emu/base/errs"
	"fabemu/emu/watch/capture/pcapng"
	"fabemu/switchd"
	"fabemu/wire"
	"fabemu/wire/fault"
	"fabemu/wire/port"
	"fabemu/wire/retry"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Port is a port of the fabric: an interface of the capture.
type Port struct {
	Node        int
	Port        port.ID
	Name        string // such as "B:3 <- A"
	Description string // of its link
	Comment     string // the parameters of its credits, or its response, where a proof needs them
	Ethernet    bool   // the family of its link
	Rate        unit.Rate
}

// Options select the frames of a run that are captured: the Request, and its consequences in the
// fabric.
type Options struct {
	Request
	// Ports are all ports of the fabric: the ends of wire i are the ports 2i and 2i+1.
	Ports []Port
	// Only, if not nil, selects the ports that are captured.
	Only []bool
	// Flows, if not nil, selects the flows whose frames are captured. Frames of no flow, as those
	// for flow control, are left out then.
	Flows map[uint32]bool
	// Wall is true if the run keeps to the wall clock: the capture must not make it wait,
	// and has a verdict at its end.
	Wall bool
	// Apart is true if the nodes of a wall run live in other processes: the loop that reports
	// frames here keeps no time, and waits.
	Apart bool
	// Faults, if not nil, returns the begins and ends of the faults of links from an instant on, by
	// time, if there are others than at the last call, since events have come. New calls it, and
	// then the driver's goroutine.
	Faults func(from unit.Time) (all []Fault, changed bool)
	// ByPacket is true if frames of a flow may take several paths at a time.
	ByPacket bool
	// Comment describes the run.
	Comment string
	// Names are the names of flows, by queue pair, and Nodes the names of nodes;
	// they are written into the file.
	Names map[uint32]string
	Nodes map[wire.LID]string
}

// Capture writes a capture. Sent, Received and Record belong to the driver's
// goroutine, Began to the goroutine that starts the run.
type Capture struct {
	options Options
	out     io.Writer
	queue   *queue
	ended   chan struct{}
	begin   int64 // wall time of model time 0, ns since 1970
	lost    int64 // frames that had no place since the last that had one
	state   state
	last    unit.Time // event of the state
	end     unit.Time // of the run, before the queue is closed; 0: it is not known

	// The fields below belong to the goroutine that writes.
	err       error
	buf       []byte
	wrote     int  // bytes of this file, without those in buf
	part      int  // number of this file, from 1
	begun     bool // it has a record
	total     int64
	nodes     [][]byte // comments of the first record of each file
	commentAt int
	flushed   time.Time
	ids       []int    // by port: the interface; -1: it is not captured
	counts    []uint64 // by interface: packets in this file
	held      []packet // of the instant that is current, in the order in which they came
	heldAt    unit.Time
	wall      int64 // of the last frame, ns since the start
	owed      int64 // frames that had no place, and that no record has counted yet
	frame     []byte
	data      []byte
	note      []byte
	faults    []Fault // that are still to come
}

// Fault is the start or the end of a fault, as in a port.
type Fault struct {
	At   unit.Time
	Port int // of Options.Ports
	Text string
}

// item is a report of the driver or of a node.
type item struct {
	kind   kind
	path   int32
	now    unit.Time // in model time
	wall   int64     // the same in wall time, ns since the start
	late   int64     // sent: wall time after its instant, ns
	start  unit.Time
	frame  wire.Frame
	note   port.Note
	retry  wire.Preamble // of a frame that was sent
	mark   mark          // the same, where it is marked
	event  trace.Event
	faults []Fault
	lost   int64     // frames since the item before that had no place
	body   wire.Body // of frame; its bytes are in room
	room   []byte    // memory that stays with the item
}

type kind uint8

const (
	sent kind = iota
	received
	event
	changed // the faults from now on are others
)

// New begins a capture on w. Close ends it.
func New(w io.Writer, o Options) *Capture {
	c := &Capture{
		options: o, out: w, queue: newQueue(!o.Wall || o.Apart), ended: make(chan struct{}),
		ids: make([]int, len(o.Ports)), buf: make([]byte, 0, 2*flushSize),
		frame: make([]byte, 0, wire.MaxFrameSize+linkSize),
		state: newState(o.Ports), nodes: nodeNames(o.Nodes),
	}
	c.head()
	if o.Faults != nil {
		c.faults, _ = o.Faults(0)
	}
	go func() {
		defer close(c.ended)
		c.work(func() { c.queue.pull(c.keep, c.idle) })
		if crashed := new(errs.Panic); errors.As(c.err, &crashed) { // nothing waits for a place forever
			c.queue.pull(func(i *item) { c.queue.missed.Add(1) }, func() {})
			return
		}
		c.work(func() {
			c.advance(max(c.end, c.heldAt, c.last))
			c.heldAt = max(c.heldAt, c.last)
			c.flush()
		})
	}()
	return c
}

// work does a part of the work of the writing goroutine. After a panic nothing more is written.
func (c *Capture) work(do func()) {
	defer errs.Into(&c.err)
	do()
}

// captures reports whether a port is captured.
func (c *Capture) captures(p int) bool { return c.options.Only == nil || c.options.Only[p] }

// Records reports whether a frame is recorded at a port: a frame that controls its link or another
// one, and that the port receives or sends. A frame counts where it takes effect on the link: data
// where it is sent, with the credit or the pause that it must keep to, and a control frame where it
// is obeyed. So the record of each port is all that is needed to prove that it kept the rules.
func (c *Capture) Records(port int, control, received bool) bool {
	return c.captures(port) && (c.options.Both || received == control || !c.captures(port^1))
}

// Missed counts frames that were not reported, between the last one that was and the next.
func (c *Capture) Missed(frames int64) {
	c.queue.missed.Add(frames)
	c.lost += frames
}

// Began sets the wall time of model time 0.
func (c *Capture) Began(at time.Time) { c.begin = at.UnixNano() }

// Sent takes a frame that a node has put on a path. The path has the number of the port that sends.
// wall is the wall time since the start, and late the lateness of the frame, both in ns.
func (c *Capture) Sent(path int, t *port.Transmission, body wire.Body, now unit.Time, wall, late int64) {
	if i := c.next(path, &t.Frame, body, false); i != nil {
		i.kind, i.path, i.now, i.wall, i.late, i.start, i.note = sent, int32(path), now, wall, late, t.Start, t.Note
		i.retry = t.Preamble
		if t.Note.Reason != 0 {
			i.mark = c.state.mark(path, &t.Frame)
		}
		c.queue.push()
	}
}

// Received takes a frame that is handed to the node at the end of a path.
func (c *Capture) Received(path int, a *port.Arrival, body wire.Body, now unit.Time, wall int64) {
	if i := c.next(path^1, &a.Frame, body, true); i != nil {
		i.kind, i.path, i.now, i.wall = received, int32(path), now, wall
		c.queue.push()
	}
}

// Record takes an event of a node.
func (c *Capture) Record(e *trace.Event) {
	switch e.Kind {
	case trace.Arrive, trace.Release, trace.Trigger:
		c.state.update(e)
		c.last = e.At
		// Data is recorded where it is received only if both ends, or some ports alone, are.
		if e.Kind != trace.Arrive || !c.options.Both && c.options.Only == nil {
			return
		}
	case trace.Drop, trace.Violation, trace.Watchdog:
	case trace.Retry:
		switch retry.Counter(e.A) {
		case retry.LostOnLink, retry.RxBad, retry.RxMissingSeq, retry.RxDuplicateSeq:
		default:
			return
		}
	case trace.Control:
		c.change(e.At)
	default:
		return
	}
	if i := c.queue.next(); i != nil { // events that are missed are not counted
		i.kind, i.event, i.now = event, *e, e.At
		c.queue.push()
	}
}

// change takes the faults of a run to which an event may just have come.
func (c *Capture) change(now unit.Time) {
	if c.options.Faults == nil {
		return
	}
	faults, others := c.options.Faults(now)
	if !others {
		return
	}
	if i := c.queue.next(); i != nil {
		i.kind, i.now, i.faults = changed, now, faults
		c.queue.push()
	}
}

// next returns the place for a frame of a port, with the frame in it. It returns nil if the frame
// is not recorded, or if there is no place; then the frame is counted.
func (c *Capture) next(port int, f *wire.Frame, body wire.Body, received bool) *item {
	if !c.Records(port, f.Kind.Control(), received) {
		return nil
	}
	i := c.queue.next()
	if i == nil {
		c.Missed(1)
		return nil
	}
	i.lost, c.lost = c.lost, 0
	i.frame, i.body = *f, wire.Body{} // nothing stays of the body of the frame that the item had before
	if body.Type != 0 {
		i.room = append(i.room[:0], body.Bytes...)
		i.body = wire.Body{Type: body.Type, Bytes: i.room}
	}
	return i
}

// End waits until all reports are written. It returns how many frames were written, and how many
// were not because the queue was full or the file could not be written.
func (c *Capture) End() (written, missed int64) {
	c.queue.closed.Store(true)
	<-c.ended
	return c.total, c.queue.missed.Load()
}

// Until sets the end of the run, before End: faults until then are recorded.
func (c *Capture) Until(at unit.Time) { c.end = at }

// Err returns the first error of the file, after End.
func (c *Capture) Err() error { return c.err }

// Close ends the capture after End. The verdict of a wall run is written into it.
// It returns the first error of the file.
func (c *Capture) Close(verdict string) error {
	if c.err != nil {
		return c.err
	}
	lost := c.queue.missed.Load()
	words := verdict
	if lost > 0 {
		words += fmt.Sprintf(" (%d frames of all interfaces were not captured: the queue was full)", lost)
	}
	c.statistics(words, uint64(lost))
	c.flush()
	if file, ok := c.out.(io.WriterAt); ok && c.options.Wall && c.options.Rotate == 0 && c.err == nil {
		text := c.options.Comment + ". " + verdict
		_, c.err = file.WriteAt([]byte(pcapng.Fill(text, commentRoom)), int64(c.commentAt))
	}
	return c.err
}

// packet is a frame that waits to be written: events of its instant may belong to
// it.
type packet struct {
	item
	port  int        // that saw it
	fate  fault.Fate // of a frame that was received, or of the frame of an event
	note  [noteSize]byte
	noted int // bytes of note
}

// noteSize is how long a comment can be.
const noteSize = 240

// comment adds words to the comment of a packet.
func (p *packet) comment(words []byte) {
	if p.noted > 0 && p.noted+2 < noteSize {
		p.noted += copy(p.note[p.noted:], "; ")
	}
	p.noted += copy(p.note[p.noted:], words)
}

// keep takes an item from the queue.
func (c *Capture) keep(i *item) {
	if i.now > c.heldAt {
		c.advance(i.now)
		c.heldAt = i.now
	}
	switch i.kind {
	case sent, received:
		c.owed += i.lost
		c.wall = i.wall
		p := int(i.path)
		if i.kind == received {
			p ^= 1
		}
		if c.options.Flows != nil && !c.options.Flows[i.frame.QP] || i.frame.Kind.Control() && c.options.Flows != nil {
			return
		}
		h := c.hold(p)
		h.item, h.lost = *i, c.owed
		if h.body.Type != 0 {
			h.body.Bytes = slices.Clone(h.body.Bytes) // the item has another frame soon
		}
		c.owed = 0
		if i.kind == sent {
			c.note = c.state.describe(c.note[:0], i, c.options.Wall)
		} else {
			c.note = c.note[:0]
		}
		if len(c.note) > 0 {
			h.comment(c.note)
		}
	case event:
		c.describe(&i.event)
	case changed:
		c.faults = i.faults
	}
}

// advance writes the frames of the instant that has passed, and all begins and ends of faults up to
// another.
func (c *Capture) advance(to unit.Time) {
	for len(c.faults) > 0 && c.faults[0].At < to {
		x := c.faults[0]
		if c.faults = c.faults[1:]; x.At > c.heldAt {
			c.release()
			c.heldAt = x.At
		}
		if !c.captures(x.Port) || c.options.Flows != nil {
			continue
		}
		begun := func(h packet) bool { return h.kind == event && h.port == x.Port && h.event.Kind == trace.Control }
		if i := slices.IndexFunc(c.held, begun); i >= 0 {
			c.held[i].comment([]byte(x.Text))
		} else {
			c.holdEvent(&trace.Event{At: x.At}, x.Port).comment([]byte(x.Text))
		}
	}
	c.release()
}

// describe adds the facts of an event to the comment of a frame of the current instant.
func (c *Capture) describe(e *trace.Event) {
	switch e.Kind {
	case trace.Arrive:
		c.note = strconv.AppendInt(append(c.note[:0], "buffer "...), e.Occupancy(), 10)
		c.note = append(append(c.note, ' '), c.state.unit(c.state.port(e.Node, e.Port))...)
	case trace.Drop:
		c.note = fmt.Appendf(c.note[:0], "dropped: %v", e.Reason())
	case trace.Retry: // the frame ends here, and is retransmitted
		c.note = fmt.Appendf(c.note[:0], "retry: %v", retry.Counter(e.A))
	case trace.Violation:
		c.note = fmt.Appendf(c.note[:0], "violation: %v, figure %d", e.Reason(), e.B)
	case trace.Control:
		c.note = append(c.note[:0], port.ChangeKind(e.A).String()...)
		if port.ChangeKind(e.A) == (port.RateChange{}).Kind() {
			c.note = fmt.Appendf(c.note, " %v", unit.Rate(e.B))
		}
	case trace.Watchdog:
		c.note = fmt.Appendf(c.note[:0], "watchdog: storm of priority %d, %s", e.Lane, switchd.StormDrop.Words()[e.B])
		if e.A == 0 {
			c.note = fmt.Appendf(c.note[:0], "watchdog: storm of priority %d is over", e.Lane)
		}
	default:
		return
	}
	at := c.state.port(e.Node, e.Port)
	if at < 0 || !c.captures(at) {
		return
	}
	if e.Kind == trace.Control || e.Kind == trace.Watchdog {
		if c.options.Flows != nil {
			return
		}
		c.holdEvent(e, at).comment(c.note)
		return
	}
	for i := range slices.Backward(c.held) {
		h := &c.held[i]
		if h.kind == received && h.port == at && h.frame.QP == e.Flow && h.frame.PSN == e.PSN &&
			h.frame.Lane == e.Lane {
			if h.frame.Kind.Control() && e.Kind == trace.Arrive {
				return // it takes no room
			}
			h.fate = max(h.fate, fateOf(e))
			h.comment(c.note)
			return
		}
	}
	if e.Kind == trace.Arrive || e.Kind == trace.Retry && fateOf(e) == fault.Carried || c.options.Flows != nil && !c.options.Flows[e.Flow] {
		return
	}
	// The frame came in an instant before, or is recorded where it was sent.
	h := c.holdEvent(e, at)
	h.fate = fateOf(e)
	h.comment(fmt.Appendf(c.note, " (flow %d, psn %d)", e.Flow, e.PSN))
}

// fateOf returns the fate on its link of the frame of an event, as the link with or without retry
// reports it.
func fateOf(e *trace.Event) fault.Fate {
	switch {
	case e.Kind == trace.Drop && e.Reason() == trace.LostOnLink, e.Kind == trace.Retry && retry.Counter(e.A) == retry.LostOnLink:
		return fault.Lost
	case e.Kind == trace.Drop && e.Reason() == trace.BadFCS, e.Kind == trace.Retry && retry.Counter(e.A) == retry.RxBad:
		return fault.Corrupted
	}
	return fault.Carried
}

// hold adds a record of a port to the current instant.
func (c *Capture) hold(port int) *packet {
	c.held = append(c.held, packet{port: port})
	return &c.held[len(c.held)-1]
}

// holdEvent adds an empty record: an event of a port that is not one of a frame.
func (c *Capture) holdEvent(e *trace.Event, at int) *packet {
	h := c.hold(at)
	h.kind, h.now, h.wall, h.event = event, e.At, c.wall, *e
	return h
}

// leastUncut is the length on the link that an empty record has at least: the header of an Ethernet
// frame. To Wireshark a packet that is shorter than its first field is malformed; of one whose
// bytes were not captured it says so.
const leastUncut = 14

// stamp returns the time stamp of an instant, given in both times.
func (c *Capture) stamp(model unit.Time, wall int64) int64 {
	if c.options.Time == WallTime {
		return c.begin + wall
	}
	return int64(model) / 1000
}

// errorsOf are the errors at the receiver by the fate of a frame on its link: the beginning of a
// lost frame was not found.
var errorsOf = [...]pcapng.LinkErrors{fault.Lost: pcapng.DelimiterError, fault.Corrupted: pcapng.CRCError}

// release writes the frames of the instant that has passed.
func (c *Capture) release() {
	for i := range c.held {
		h := &c.held[i]
		p := pcapng.Packet{Interface: c.ids[h.port], Direction: pcapng.Inbound, Time: c.stamp(h.now, h.wall), Errors: errorsOf[h.fate]}
		switch h.kind {
		case sent:
			p.Direction, p.Time = pcapng.Outbound, c.stamp(h.start, h.wall)
			fallthrough
		case received:
			c.data, p.Length = c.record(c.data[:0], &h.frame, h.body, h.fate, p.Time)
			if h.frame.Delimiter() >= wire.StartOfFrame && len(c.data) == p.Length {
				p.FCS = wire.FCSSize
			}
			if f := &h.frame; f.Family == wire.Guest {
				p.Comments = append(p.Comments, fmt.Appendf(nil, pcapng.GuestComment, f.QP, f.PSN, f.Lane, f.Payload, f.Src, f.Dst))
			}
		default:
			c.data = c.data[:0]
			uncut := max(int(h.event.Bytes), leastUncut)
			if !c.options.Ports[h.port].Ethernet {
				c.data = appendERF(c.data, p.Time, erfInfiniBand, h.fate, 0, uncut)
			}
			p.Length = len(c.data) + uncut
		}
		p.Data = c.data
		if h.noted > 0 {
			p.Comments = append(p.Comments, h.note[:h.noted])
		}
		if h.lost > 0 {
			p.Comments = append(p.Comments,
				fmt.Appendf(nil, "missing: %d frames before this one, the queue was full", h.lost))
		}
		if c.err != nil {
			c.queue.missed.Add(1)
			continue
		}
		c.write(&p)
		if len(c.buf) >= flushSize {
			c.flush()
		}
	}
	c.held = c.held[:0]
}
