// Package drive makes machines run: it gives them the time and the frames, and
// carries the frames that they send.
//
// There is one loop: take the next event, let it happen, carry the frames that the
// machine sends. A gate returns when the next event may happen, and how far the loop may go before
// it asks again. Virtual has a gate that never waits. On the virtual clock several loops can share
// a fabric (Loops), each with a gate that waits for the others. Wall keeps to the wall clock, in one
// process; Part does so for some of the machines, while other processes run the rest.
//
// A carrier takes a frame to the machine at its other end: as a value, through its bytes, or over
// real links (package wire/link).
//
// # The order of events
//
// Ties are the norm in a fabric of equal links, so their order is part of the
// model. All drivers keep one total order: by time; then frames that arrive, then
// changes from outside, then deadlines; then by the index of the machine; then by
// port; then by the order on the link. It is kept by numbering: each direction of
// a link, and each machine, has a slot of an agenda (package wire/agenda), and of
// the slots that are due at one instant the lowest comes first. A machine that shares the
// agenda has as many slots as it has things that fall due (Sharer).
//
// # The wall clock
//
// The wall time of an instant is the epoch plus the dilation times model time. Wall hands a frame
// to its machine as decoded from the frame's own bytes, so its events are those on the virtual clock.
// Events may come before their instant, by a bounded time. Bytes leave at their instant, never before, in a
// train with all else that is due. The bytes that come back must equal the bytes that left. Bytes that are
// lost, changed or out of order make the run void. Only the pace varies, and package emu/run/pace measures it.
//
// A frame from another process comes with its datagram, without notice. A Part in Exact order waits
// until it has been promised that no frame comes before its next event (package emu/run/lookahead);
// otherwise it does all at its time, and frames can be overtaken, which is counted.
//
// # Limitations
//
// A Part is one loop on one thread. The loop of Wall spins while it waits for an instant, the loop of a Part sleeps.
// Several loops that share a fabric have no Tap and no Visitor, and carry no bodies.
package drive
