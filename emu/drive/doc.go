// Package drive makes machines run: it gives them the time and the frames, and
// carries what they send.
//
// There are three drivers. Virtual goes from event to event as fast as it can. Wall
// does the same events in the same order, but none before its time: wall time is
// the epoch plus the dilation times model time, and each frame crosses a real
// link as a datagram (package wire/link). A wall run in one process is therefore,
// event for event, the run of the virtual clock; what varies is the pace, and
// Timing says how. Part is Wall for the machines of one process among several: frames
// that come from the others are waited for, or can be overtaken, and Timing counts them.
//
// # The order of events
//
// Ties are the norm in a fabric of equal links, so their order is part of the
// model. All drivers keep one total order: by time; then frames that arrive, then
// changes from outside, then deadlines; then by the index of the machine; then by
// port; then by the order on the link. It is kept by numbering: each direction of
// a link, and each machine, has a slot of an agenda (package wire/agenda), and of
// the slots that are due at one instant the lowest comes first. On the virtual clock a
// machine has as many slots as it has things that fall due (Sharer).
//
// # The on-time rule
//
// A datagram says when its frame is due: the first instant at which the receiver
// may act on it. The driver knows which datagrams it has sent, and does no event
// that comes after the due time of one that has not been seen. It reads the
// receiving socket when it has nothing to send, at the latest when it needs the
// datagram, which nearly always is there, but it does not rely on that. A datagram that
// has not come 50 ms of wall time after it was needed is lost, which makes the run void.
//
// # Several loops
//
// Loops of one process can share the machines of a fabric, each on a processor of its own, and
// keep the one order. A frame takes a least time from one loop to another (Fabric.Least). On the
// virtual clock all do what is due within that time of the first event of all, and then hand over
// what they have sent one another. On the wall clock each tells in memory the first instant at
// which it may do anything, and what it has sent before the datagrams leave, and does an event
// when nothing can come any more that belongs before it.
//
// # Deadlock
//
// A fabric without loss can come to a standstill: outputs that wait for one another in
// a cycle. A Watch has the driver look for that at intervals of model time, as the last
// of all events of an instant; switches say what their frames wait for (Waiter), and
// what could still make room is taken out until only those are left that cannot. Where
// nothing moves any more and no endpoint expects anything (Expecter), the run is over.
//
// # Promises
//
// What several loops or processes share needs more: a loop does not know what another one will
// send. A Part in Exact order waits until it has been promised that no frame comes before its
// next event (Council); what promises rest on are the least times that things take (Fabric.Least,
// Fabric.Passing), and what parts tell is merged by the Key of each event. Otherwise a Part does
// all at its time, and frames can be overtaken.
//
// # Limitations
//
// A Part is one loop on one thread. On the wall clock a loop that waits for an instant spins, but
// for that of a Part, which sleeps where it has time. Several loops that share a fabric (Loops)
// have no Tap, Outside or Visitor, carry no bodies, and tell machines the ideal time.
package drive
