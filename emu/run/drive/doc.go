// Package drive makes nodes run: it gives them the time and the frames, and carries the frames that
// they send.
//
// One function takes the next event, lets it happen, and carries the frames that the node sends,
// again and again (order.run). Virtual calls it for window after window. A fabric can be divided
// into domains (Domains), which do a window one after the other or on several threads. Wall keeps
// to the wall clock, in one process; Part does so for some of the nodes, while other processes run
// the rest: a gate decides when their next event may happen.
//
// A carrier takes a frame to the node at the other end: as a value, through its bytes, or over real
// links (package wire/link).
//
// # The order of events
//
// In a fabric of equal links many events happen at the same instant, so their order is part of the
// model. All drivers keep one total order: by time; then frames that arrive, then changes from
// outside, then deadlines; then by the index of the node; then by port; then by the order on the
// link. Numbers ensure it: each direction of a link, and each node, has a slot of an agenda
// (package wire/agenda), and of the slots that are due at one instant the lowest comes first. A
// node that shares the agenda has as many slots as it has things that fall due (Sharer).
//
// # The wall clock
//
// The wall time of an instant is the epoch plus the dilation times the model time. Wall decodes a
// frame from its own bytes before it hands it to its node, so its events are those of the virtual
// clock. Events may happen before their instant, by a bounded time. Bytes leave at their instant,
// never before, in a train with everything else that is due. The bytes that arrive must equal the
// bytes that left: if bytes are lost, changed or out of order, the run is void. Only the pace
// varies, and package emu/run/pace measures it.
//
// A frame from another process arrives with its datagram, without notice. So a Part waits until it
// has the promise that no frame comes before its next event (package emu/run/lookahead).
//
// # Limitations
//
// A Part is one loop on one thread. The loop of Wall spins while it waits for an instant, the loop
// of a Part sleeps. Several domains have no Tap and no Visitor, and carry no bodies. Where Wall is
// behind with PFC over veth, it may hold its clock after each frame, and not send trains.
package drive
