// Package switchd is the switch: the machine between the endpoints.
//
// The switch of this package buffers at its inputs, as InfiniBand's do: credit on
// a link is room in the buffer at its end. The way of a data frame through it is
// the order of its files:
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
// A switch that is told the time late decides late, but its lines keep to the
// ideal instants: a frame starts when its line was idle and it could be forwarded.
//
// Two readings of the paper's "FIFO with possible bypass of older packets when
// crossbar is busy (max bypass: 4)" (HPL-2002-224, Table I) can be chosen. With
// the crossbar multi-output (model M1, the default) an input may feed several
// outputs at once: nothing is ever bypassed. With single-output (model M2) it
// feeds one at a time; an output may then take a younger frame from another
// input, and a frame may be bypassed so at most four times.
//
// # Limitations
//
// Input-buffered switches only so far. Frames of the data lane and of the ACK lane
// are kept apart in queues and buffers; only data is marked.
package switchd
