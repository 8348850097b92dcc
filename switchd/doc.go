// Package switchd is the switch: the machine between the endpoints.
//
// There are two kinds. Switch buffers at its inputs, as InfiniBand's do: credit on
// a link is room in the buffer at its end. OutputQueued has one memory and queues at
// its outputs, as Ethernet's do, and stops its senders by PAUSE. Their common part is
// in chassis.go and forward.go.
//
// The way of a data frame through the first is the order of its files:
//
//  1. switch.go, Receive: a frame's header is in; the frame is given to
//  2. ingress.go: it takes a slot of the input's buffer and is registered: its
//     place in the order of arrival is fixed;
//  3. forward.go picks the output by the destination;
//  4. egress.go: once it may be forwarded (the forwarding delay has passed), the
//     output that is idle and has credit takes the oldest frame that waits for it,
//     over all inputs; the frame cuts through if that is itself, at once;
//  5. then the congestion point (package switchd/cp) looks whether the arrival has
//     filled the buffer or the queue, and marks;
//  6. when the frame's tail has left, its slot is freed and credit goes back to the
//     peer: no step but this one goes backwards.
//
// A switch that runs late decides late, but its lines keep to the
// ideal instants: a frame starts when its line was idle and it could be forwarded.
//
// Two readings of the paper's "FIFO with possible bypass of older packets when
// crossbar is busy (max bypass: 4)" (HPL-2002-224, Table I) can be chosen. With
// the crossbar multi-output (model M1, the default) an input may feed several
// outputs at once: nothing is ever bypassed. With single-output (model M2) it
// feeds one at a time, and the rule is read so:
//
//   - An output takes the oldest frame whose input is free. Each older frame that waits
//     for it, and that only the crossbar keeps, has been bypassed once more; one that has
//     been bypassed four times is waited for, and the output idles until then.
//   - Frames for other outputs do not count: to leave by another output is no bypass.
//   - Where several outputs want the same input, the oldest frame goes.
//   - A transmission that ends at an instant has ended when an output chooses: an input that is freed
//     then is free.
//
// The last two are not in the text, and figures depend on them. Where lines are ended one
// after another, by port, so that an input may count as busy in the instant in which it
// is freed, Fig. 4(a) has 77 % in place of 81 % for 3 packets without a threshold. And
// from 12 packets on nothing is marked, and the use of the root link depends on the phase
// of the victim's packets (TestBypassHangsOnThePhase): it is 100 %, remote/local 10/13,
// where 186 ns are between two of them, as in the scenarios, whose links have 1 ns of
// propagation; and 95.8 %, 10/14, where there are 180 ns, as without.
//
// Through the second, outputqueued.go and outputqueued_outputs.go (outputqueued_changes.go has restarts,
// and other routes):
//
//  1. Receive: the frame is whole, or its header is in; memory.go has room for it, or
//     it is lost; when its input has taken too much the sender there receives PAUSE;
//  2. admit: the delay has passed, it joins the queue of its output and priority, unless
//     a congestion point discards it before, and the congestion point sees the queue: it
//     may send a notification to the source;
//  3. serve: an idle line takes the oldest frame of the highest priority that the peer
//     has not stopped;
//  4. complete: its tail has left, its memory is free, and the sender at its input may
//     go on if enough is.
//
// # Limitations
//
// Of the first kind frames of the data lane and of the ACK lane are kept apart in
// queues and buffers; only data is marked. Of the second, notifications of the switch
// itself take no memory of an input. A priority without flow control, beside others that
// have it, is dropped above the high watermark, not only where the memory is full. All
// ports have the same kind of flow control and the same watermarks.
package switchd
