package trace

import (
	"fabemu/wire"
	"fabemu/wire/unit"
)

// The causes of a Stall are those of port.Block: Causes of them. Idle says that there is nothing to
// send; those from FirstKept on hold a line back.
const (
	Idle      = 1
	FirstKept = 2
	Causes    = 9
)

// Flow is the states of a flow, and the counts of each of its packets. Its source counts in the
// first half, and its destination in the second one.
type Flow struct {
	Kept      *[Causes]int64 // picoseconds by the cause that kept the source, up to Turned
	Turned    unit.Time      // when another cause began to keep it
	Delivered unit.Time      // when it last delivered something, or began to have something to send
	Limit     int64          // the rate of the source in bits per second
	Sent      uint32         // packets, modulo 2^32
	Gone      uint32         // of them, those that were delivered, or lost
	Acks      uint32         // taken in by the source, since they were written down; so are the other counts
	AcksBack  uint32         // of them, those that carried a mark back
	Block     uint8          // the cause, as in a Stall
	Again     bool           // packets may be retransmitted: Sent and Gone are the PSNs that come next
	Owed      bool           // delivered packets have been retransmitted, and the source has no ACK of them yet
	Seen      uint16         // the causes that have kept it, a bit each
	Any       bool           // with Again: packets may be delivered in any order
	_         [9]byte

	Bytes   int64         // of data frames that came whole; never written down
	InOrder int64         // of TCP's payload, that they completed in order
	Frames  uint32        // that came whole
	Marked  uint32        // of them, those that carried a mark
	Span    unit.Duration // how long a frame of Size takes the slowest link of the flow
	Size    uint32        // of the last frame that came; 0: its Span is to be found out again
	_       [4]byte

	began, before unit.Time // when it had something to retransmit, and Delivered before that
	_             [8]byte
}

// Waits reports whether the flow has something to send, or in flight.
func (f *Flow) Waits() bool {
	if f.Block != Idle || f.Owed {
		return true
	}
	left := f.Sent - f.Gone
	if f.Again {
		if left <<= 8; left >= 1<<31 { // modulo 2^24: one that was delivered is retransmitted
			left = 0
		}
	}
	return left != 0
}

// Begin notes that the flow may have something to send from an instant on.
func (f *Flow) Begin(at unit.Time) {
	if f.Waits() {
		return
	}
	if f.Again {
		f.began, f.before = max(f.Delivered, at), f.Delivered
	}
	f.Delivered = max(f.Delivered, at)
}

// Turn notes that another cause keeps the source from an instant on.
func (f *Flow) Turn(at unit.Time, block uint8) {
	f.Kept[f.Block] += int64(at - f.Turned)
	if f.Block == Idle {
		f.Begin(at)
	}
	f.Block, f.Turned = block, at
	f.Seen |= 1 << (block & 15)
}

// Send counts a data packet that leaves the source.
func (f *Flow) Send(psn uint32) {
	if f.Sent++; !f.Again {
		return
	}
	f.Sent = psn + 1
	if int32((f.Gone-psn)<<8) > 0 { // modulo 2^24: it was delivered, and its ACK did not come; nothing new begins
		if !f.Owed && f.Delivered == f.began {
			f.Delivered = f.before
		}
		f.Owed = true
	}
}

// Acknowledge counts an ACK that the source has taken in.
func (f *Flow) Acknowledge(psn uint32, marked bool) {
	f.Acks++
	if marked {
		f.AcksBack++
	}
	f.Owed = f.Owed && int32((f.Gone-psn-1)<<8) > 0
}

// Deliver counts a data frame of this length that has come, and completes so much in order. When
// it came is noted in Delivered by the caller.
func (f *Flow) Deliver(psn, bytes uint32, marked bool, inOrder int64) {
	gone := f.Gone + 1
	if f.Again {
		if gone = psn + 1; f.Any && int32((gone-f.Gone)<<8) < 0 {
			gone = f.Gone
		}
	}
	f.Gone = gone
	f.Bytes += int64(bytes)
	f.InOrder += inOrder
	f.Frames++
	if marked {
		f.Marked++
	}
}

// Plain reports whether a frame that comes is as the one before it, has begun to come after an
// instant, and is not the first for as long as patience.
func (f *Flow) Plain(at, after unit.Time, bytes uint32, patience unit.Duration) bool {
	return bytes == f.Size && at.Sub(after) >= f.Span && at.Sub(f.Delivered) < patience
}

// Arrivals are the data frames that have come to the destinations of transfers, since they were
// written down.
type Arrivals struct {
	Bytes          int64
	Frames, Marked int64
}

// Flows are the flows for which a Counter counts, by their queue pairs.
type Flows struct {
	All       []Flow
	First     uint32 // the queue pair of All[0]
	Patience  unit.Duration
	Transfers func(qp uint32) *Arrivals // of other queue pairs; nil: they are counted from events
}

// Of returns the flow of a queue pair; nil: it has no counts here.
func (f *Flows) Of(qp uint32) *Flow {
	if i := int(qp - f.First); i < len(f.All) { // queue pairs below First wrap around to a number that no flow has
		return &f.All[i]
	}
	return nil
}

// ofFlows are the kinds of events that change a Flow, or depend on it, or decide how the frames
// behind them count: what happens after such an event is counted at once, so it does not wait in
// the Batch.
const ofFlows = 1<<Retry | 1<<Drop | 1<<FlowStart | 1<<Refuse | 1<<Control | 1<<Limit | 1<<Failure

// countsFlows reports whether what happens to flows at an instant is counted.
func (r *Recorder) countsFlows(now unit.Time) bool {
	return r.counting(now) && r.batch.flows.All != nil
}

// ofFlow hands on an event of a flow that was recorded, if it changes a Flow.
func (r *Recorder) ofFlow() {
	if r.batch != nil && r.batch.flows.All != nil {
		r.batch.Flush()
	}
}

// Turn reports the cause that keeps a flow at its source from now on, and the one before.
func (r *Recorder) Turn(now unit.Time, flow uint32, block, before uint8) {
	if r.countsFlows(now) {
		if f := r.batch.flows.Of(flow); f != nil {
			f.Turn(now, block)
		}
		r.seq++
		return
	}
	r.State(now, Stall, 0, 0, flow, int64(block), int64(before))
	r.ofFlow()
}

// Deliver reports a data frame of n bytes that has come to the destination of its flow, and
// completes so much payload of TCP in order.
func (r *Recorder) Deliver(now unit.Time, f *wire.Frame, n uint32, inOrder int64) {
	if r.countsFlows(now) {
		x := r.batch.flows.Of(f.QP)
		if x != nil && x.Plain(now, r.batch.from, n, r.batch.flows.Patience) {
			x.Deliver(f.PSN, n, f.FECN, inOrder)
			x.Delivered = max(x.Delivered, now)
			r.seq++
			return
		}
		if x == nil && r.batch.flows.Transfers != nil {
			if a := r.batch.flows.Transfers(f.QP); a != nil {
				a.Bytes += int64(n)
				a.Frames++
				if f.FECN {
					a.Marked++
				}
				r.seq++
				return
			}
		}
	}
	r.Emit(Event{At: now, Kind: Deliver, Flow: f.QP, PSN: f.PSN, Bytes: n, A: FrameWord(f), B: inOrder})
	r.ofFlow()
}

// Feedback reports an ACK, or a notification, that the source of a flow has taken in, and its
// limit since then.
func (r *Recorder) Feedback(now unit.Time, flow uint32, f *wire.Frame, limit int64) {
	if f.Kind == wire.Ack && r.countsFlows(now) {
		if x := r.batch.flows.Of(flow); x != nil && x.Limit == limit {
			x.Acknowledge(f.PSN, f.BECN)
			r.seq++
			return
		}
	}
	r.Emit(Event{At: now, Kind: Feedback, Flow: flow, PSN: f.PSN, A: FrameWord(f), B: limit})
	r.ofFlow()
}
