// Package switchd is the switch: the node between the endpoints.
//
// There are two kinds. Switch buffers at its inputs, as InfiniBand switches do: credit
// on a link is room in the buffer at its end. OutputQueued has one memory and queues at
// its outputs, as Ethernet switches do, and stops its senders with PAUSE. Their common
// part is in chassis.go and forward.go.
//
// The path of a data frame through a Switch follows the order of its files:
//
//  1. switch.go, Receive: a frame's header has arrived; the frame is given to
//  2. ingress.go: it takes a slot of the input's buffer and is registered: its
//     place in the order of arrival is fixed;
//  3. forward.go picks the output by the destination;
//  4. lanes.go picks the virtual lane, where links have several for data;
//  5. egress.go: once the forwarding delay has passed, an output that is idle and has
//     credit takes the oldest frame that waits for it, over all inputs; if that is the
//     frame itself, it cuts through at once;
//  6. then the congestion point (package switchd/cp) checks whether the arrival has
//     filled the buffer or the queue, and marks;
//  7. when the frame's tail has left, its slot is freed and credit goes back to the
//     peer. No other step has an effect in the reverse direction.
//
// The paper's "FIFO with possible bypass of older packets when crossbar is busy (max
// bypass: 4)" (HPL-2002-224, Table I) can be read in two ways, and both can be chosen.
// With the crossbar multi-output (model M1, the default) an input may feed several
// outputs at once, so nothing is ever bypassed. With single-output (model M2) it feeds
// one at a time, and the rule is read as follows:
//
//   - An output takes the oldest frame whose input is free. Each older frame that waits
//     for the output, and that only the crossbar delays, has been bypassed once more. If
//     one has been bypassed four times, the output stays idle until that frame can go.
//   - Frames for other outputs do not count: leaving by another output is no bypass.
//   - If several outputs want the same input, the oldest frame goes.
//   - A transmission that ends at the instant at which an output chooses has ended: an
//     input that is freed then is free.
//
// The last two are not in the text, and figures depend on them. If transmissions were
// ended one after another, by port, so that an input may count as busy in the instant in
// which it is freed, Fig. 4(a) would have 77 % instead of 81 % for 3 packets without a
// threshold. And from 12 packets on nothing is marked, and the use of the root link
// depends on the phase of the victim's packets (TestBypassHangsOnThePhase): it is 100 %,
// remote/local 10/13, if its packets are 186 ns apart, as in the scenarios, whose links
// have 1 ns of propagation; and it is 95.8 %, 10/14, if they are 180 ns apart, as
// without propagation.
//
// The path through an OutputQueued is in outputqueued.go and outputqueued_outputs.go
// (restarts and changes of routes are in outputqueued_changes.go):
//
//  1. Receive: all of the frame, or its header, has arrived; memory.go has room for it,
//     or it is lost; if its input has taken too much memory, the sender there receives
//     PAUSE;
//  2. admit: the delay has passed, and the frame joins the queue of its output and
//     priority, unless a congestion point discards it first; the congestion point sees
//     the queue and may send a notification to the source;
//  3. serve: an idle link takes the oldest frame of the highest priority that the peer
//     has not stopped;
//  4. complete: the frame's tail has left, its memory is free, and the sender at its
//     input may resume if enough memory is free. Watermarks that follow the free memory
//     (dynamic.go) rise for all inputs then.
//
// Where only figures are wanted, and nothing stops an output, belt.go works out all of that
// when a frame arrives.
//
// # Limitations
//
// A Switch marks only data, and its congestion points of HPL-2002-224 see one data lane. A
// lane that has discarded frames at the end of their lifetime does not stall (VLStallCount). In an
// OutputQueued, notifications of the switch itself take no memory of an input. If some priorities
// have flow control, a frame of a priority without it is dropped above the high watermark, not only
// when the memory is full. All ports have the same kind of flow control and the same watermarks.
package switchd
