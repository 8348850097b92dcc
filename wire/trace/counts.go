package trace

import (
	"encoding/binary"
	"math/bits"

	"fabemu/wire"
	"fabemu/wire/unit"
)

// Counts are the counts of every frame at a port, and the states that they need. The amounts are
// those at the last event. The first cache line is of frames that leave, the second one of those
// that come, and of the causes that hold frames back.
type Counts struct {
	Bytes    int64 // data on the link, headers included, the last frame as a whole
	Began    unit.Time
	Last     uint32    // bytes of the last data frame, which began then; 0: it is known to be over
	Frames   uint32    // data frames, since they were written down; so are the others
	Changed  unit.Time // Waited is counted up to here
	Queue    int64     // bytes that wait for the link since then
	Waited   int64     // bytes that wait for the link, times 1024 picoseconds
	Longest  int64     // the most bytes that waited
	Acks     uint32
	OfInputs bool   // its frames wait in a switch with input buffers
	Seen     uint16 // the causes that have ever held frames back, a bit each

	Occupancy int64 // in the buffer: blocks; on Ethernet bytes
	Most      int64
	Area      int64    // occupancy times picoseconds at an instant, less Occupancy times that, modulo 2^64
	Control   uint32   // flow control packets
	Holding   uint16   // the causes that have held back frames of some lane since Turned, a bit each
	Lanes     uint8    // lanes, from 0 on, whose events state the amount of the whole buffer
	ByLane    *[]int64 // occupancy, where an event states that of one lane; nil: none does
	Kept      *Held    // up to Turned
	Turned    unit.Time
	Blocks    [8]uint8 // by lane, the cause that holds its frames back, as in a Stall
}

// Empty is Counts.Blocks where no frame waits.
var Empty = [8]uint8{Idle, Idle, Idle, Idle, Idle, Idle, Idle, Idle}

// Hold records the amount in the buffer, or in a lane of it, from an instant on.
func (c *Counts) Hold(from unit.Time, lane uint8, holds int64) {
	if lane >= c.Lanes {
		if c.ByLane == nil || int(lane) >= len(*c.ByLane) {
			return // ACKs on InfiniBand
		}
		of := &(*c.ByLane)[lane]
		holds, *of = c.Occupancy+holds-*of, holds
	}
	c.Area += (c.Occupancy - holds) * int64(from)
	if c.Occupancy = holds; holds > c.Most {
		c.Most = holds
	}
}

// QueueShift scales the time for which bytes wait, so that it fits into 64 bits for any queue and
// any run.
const QueueShift = 10

// SetQueue notes that this many bytes wait for the link from an instant on.
func (c *Counts) SetQueue(from unit.Time, bytes int64) {
	span := int64(from - c.Changed)
	c.Changed = from
	c.Waited += c.Queue * span >> QueueShift
	c.Queue = bytes
	if bytes > c.Longest {
		c.Longest = bytes
	}
}

// PassQueue notes that a frame of this many bytes finds nothing that waits for the link, and begins
// at the instant at which it comes.
func (c *Counts) PassQueue(at unit.Time, bytes int64) {
	if c.Queue != 0 { // what waited is lost
		c.SetQueue(at, 0)
	}
	if c.Changed = at; bytes > c.Longest {
		c.Longest = bytes
	}
}

// Turn notes that another cause holds back the frames of a lane from an instant on. The time of a
// cause is counted once, however many lanes it holds back.
func (c *Counts) Turn(at unit.Time, lane, block uint8) {
	if int(lane) >= len(c.Blocks) {
		return
	}
	c.Until(at, c.Kept)
	before := c.Blocks[lane]
	c.Blocks[lane] = block
	if !c.holds(before) {
		c.Holding &^= 1 << (before & 15)
	}
	c.Holding |= 1 << (block & 15)
	c.Seen |= c.Holding
}

// Until adds the time of the causes that hold frames back, up to an instant, to what they have
// held.
func (c *Counts) Until(t unit.Time, held *Held) {
	for kept := c.Holding >> FirstKept; kept != 0; kept &= kept - 1 {
		held[bits.TrailingZeros16(kept)] += int64(t - c.Turned)
	}
	c.Turned = t
}

// holds reports whether a cause holds back the frames of any lane.
func (c *Counts) holds(cause uint8) bool {
	const ones = 0x01_01_01_01_01_01_01_01
	x := binary.NativeEndian.Uint64(c.Blocks[:]) ^ ones*uint64(cause) // a byte is 0 where it is the cause
	return (x-ones)&^x&(ones<<7) != 0
}

// Held are picoseconds by cause, from FirstKept on.
type Held [Causes - FirstKept]int64

// begin counts a data frame.
func (c *Counts) begin(at unit.Time, bytes uint32) {
	c.Bytes += int64(bytes)
	c.Began, c.Last = at, bytes
	c.Frames++
}

// Start counts a frame of this length that begins on the link. Data is IsData of the frame.
func (c *Counts) Start(at unit.Time, kind wire.Kind, data bool, bytes uint32) {
	switch {
	case data:
		if c.begin(at, bytes); c.OfInputs {
			c.SetQueue(at, c.Queue-int64(bytes))
		}
	case kind == wire.Ack || kind == wire.TCP:
		c.Acks++
	case kind == wire.FlowControl:
		c.Control++
	}
}

// A Counter counts what happens at ports and to flows. Where nothing else wants the events,
// recorders count for it within a bin, which takes a fraction of the time.
type Counter interface {
	// Own returns what the recorder of a node counts.
	Own(node int32) *Own

	// Bin returns the time for which events need not come: from and before to.
	Bin() (from, to unit.Time)

	// Advance ends the bins that end at or before t, as an event of t would.
	Advance(t unit.Time)

	// Settle has the Counter call a node before it reads counts at the end of a bin: what happened
	// at its ports before that instant is then to be counted.
	Settle(node func(end unit.Time))
}

// Own is what a Recorder counts itself for a Counter.
type Own struct {
	Ports   []Counts                  // of its node
	Reasons []*Reasons                // of its ports; nil: there were none
	Latest  *Latest                   // of a switch
	Wants   Wants                     // what it wants of frames that start and come
	Frame   FrameFunc                 // with Messages: counts a frame that starts, or comes and is no traffic
	Joins   func(flow uint32) *Counts // the port for which a frame of a flow waits that has come; nil: none
}

// FrameFunc takes a frame of n bytes at a port, that starts, or else has come. A start leaves so
// much credit.
type FrameFunc func(port uint16, starts bool, f *wire.Frame, n uint32, left int64)

// Wants is what a Counter wants of the frames at ports, in addition to Counts. Where flows are not
// counted, these are events.
type Wants uint8

// What a Counter can want.
const (
	DataStarts Wants = 1 << iota // frames with data that start, for their flows
	Messages                     // frames that start, and those that come and are no traffic, by Own.Frame
)

// Count has the recorders that are made from now on count for a Counter. They count for flows, too,
// if some are given: all nodes report to this Batch, so that both ends of a flow do in the order of
// time.
func (b *Batch) Count(c Counter, flows Flows) {
	b.counter, b.flows = c, flows
	b.handOn(int(b.n))
}

// Counts returns the counts of the ports of a node that counts late: when it needs an amount, and
// at the end of each bin, when settle is called. It returns nil where events are wanted, each at
// its instant; then settle is never called. A node that counts late calls Reach before it does, at
// each instant.
func (r *Recorder) Counts(settle func(end unit.Time)) []Counts {
	if r.own == nil || r.own.Wants != 0 || r.own.Joins != nil {
		return nil
	}
	r.batch.counter.Settle(settle)
	return r.own.Ports
}

// Reach ends the bins that end at or before an instant, so that all before it is counted in its
// bin.
func (r *Recorder) Reach(now unit.Time) {
	if b := r.batch; uint64(now-b.from) >= b.span {
		b.reach(now)
	}
}

// counting reports whether what happens at an instant is counted and no event is wanted.
func (r *Recorder) counting(now unit.Time) bool {
	return r.batch != nil && uint64(now-r.batch.from) < r.batch.span
}

// beyond hands on an event that is not in the bin, so that the next one is.
func (r *Recorder) beyond(now unit.Time) {
	if b := r.batch; b != nil && b.counter != nil && uint64(now-b.from) >= b.span {
		b.Flush()
	}
}

// Start reports a frame of n bytes that begins on the link of a port; left is the credit that it
// leaves.
func (r *Recorder) Start(now unit.Time, port uint16, f *wire.Frame, n uint32, left int64) {
	if r.counting(now) {
		switch c := &r.own.Ports[port]; {
		case r.own.Wants != 0:
			if r.startWanted(now, port, f, n, left) {
				return
			}
		case f.Kind == wire.Data && !c.OfInputs: // most frames
			c.begin(now, n)
			r.seq++
			return
		default:
			c.Start(now, f.Kind, isData(f), n)
			r.seq++
			return
		}
	}
	r.Frame(now, Start, port, f, n, FrameWord(f), left)
	r.beyond(now)
}

// isData reports whether a frame has data.
func isData(f *wire.Frame) bool { return f.Kind == wire.Data || f.Kind == wire.TCP && f.Payload > 0 }

// startWanted counts a frame that starts where the Counter wants more than Counts. It reports
// whether no event is wanted.
func (r *Recorder) startWanted(now unit.Time, port uint16, f *wire.Frame, n uint32, left int64) bool {
	data, flows := isData(f), r.batch.flows.All != nil
	if !flows && (data || r.own.Wants != DataStarts) {
		return false
	}
	if data && r.own.Wants&DataStarts != 0 {
		if x := r.batch.flows.Of(f.QP); x != nil {
			x.Send(f.PSN)
		}
	}
	r.own.Ports[port].Start(now, f.Kind, data, n)
	if r.own.Wants&Messages != 0 {
		r.own.Frame(port, true, f, n, left)
	}
	r.seq++
	return true
}

// Arrive reports a frame of n bytes, other than PAUSE, that came by a port, whose buffer holds this
// much with it.
func (r *Recorder) Arrive(now unit.Time, port uint16, f *wire.Frame, n uint32, holds int64) {
	if traffic := f.Kind.Traffic(); r.counting(now) && (traffic || r.own.Wants&Messages == 0 || r.batch.flows.All != nil) {
		r.seq++
		if traffic {
			if r.own.Joins != nil {
				if out := r.own.Joins(f.QP); out != nil {
					out.SetQueue(now, out.Queue+int64(n))
				}
			}
			r.own.Ports[port].Hold(now, f.Lane, holds)
		} else if r.own.Wants&Messages != 0 {
			r.own.Frame(port, false, f, n, holds)
		}
		return
	}
	r.Frame(now, Arrive, port, f, n, FrameWord(f), holds)
	r.beyond(now)
}

// Release reports a frame that left the buffer of a port, which holds this much without it.
func (r *Recorder) Release(now unit.Time, port uint16, f *wire.Frame, holds int64) {
	if r.counting(now) {
		r.own.Ports[port].Hold(now, f.Lane, holds)
		r.seq++
		return
	}
	r.Frame(now, Release, port, f, 0, 0, holds)
	r.beyond(now)
}

// Passed counts a frame of n bytes that comes into the buffer of a port and leaves it at the same
// instant. It returns false where events are wanted, and counts nothing.
func (r *Recorder) Passed(now unit.Time, port uint16, n unit.Size) bool {
	if !r.counting(now) {
		return false
	}
	if c := &r.own.Ports[port]; c.Occupancy+int64(n) > c.Most {
		c.Most = c.Occupancy + int64(n)
	}
	return true
}

// Stall reports the cause that holds back the frames that wait in a lane for the link of a port
// from now on, and the one before.
func (r *Recorder) Stall(now unit.Time, port uint16, lane, block, before uint8) {
	if r.counting(now) {
		r.own.Ports[port].Turn(now, lane, block)
		r.seq++
		return
	}
	r.State(now, Stall, port, lane, 0, int64(block), int64(before))
	r.beyond(now)
}

// Queue reports the bytes that wait for the link of a port, and those of them in one lane.
func (r *Recorder) Queue(now unit.Time, port uint16, lane uint8, all, bytes int64) {
	if r.counting(now) {
		r.own.Ports[port].SetQueue(now, all)
		r.seq++
		return
	}
	r.State(now, Queue, port, lane, 0, all, bytes)
	r.beyond(now)
}
