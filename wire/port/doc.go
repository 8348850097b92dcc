// Package port is one end of a link as a state machine: it decides when a frame may
// be sent, how long it occupies the link, and which flow control the peer receives.
//
// A Port is made of
//
//   - a Transmitter: it serialises one frame at a time, in picoseconds,
//     and computes each deadline from the ideal time of the one before, so that
//     lateness does not add up;
//   - one of three kinds of flow control, behind one interface. What only a kind has,
//     a node asks for once, when it is assembled. VirtualLanes have a Credit for each
//     lane, InfiniBand's link-level flow control, with absolute counters, so that a
//     lost or repeated flow control packet does no lasting harm;
//   - or, on Ethernet, Pausing, by port or by priority: a Buffer of the node decides
//     when the peer must Stop and when it may Resume, and Headroom computes how much
//     room that needs;
//   - or Channels, with the credits of virtual channels of Ultra Ethernet (CBFC);
//   - an Outbox, shared by the ports of a node, from which the driver polls; it
//     holds the bodies of the frames that are in the node (wire.Bodies).
//
// The package also defines the terms of the contract between nodes and drivers:
// Arrival, Transmission, Change, and Answer, the typed reply to "may I send?".
//
// The node that owns a port calls, in this order: Receive for each frame that
// arrives on the link; Free when a frame has left the node's buffer; and then,
// once it has decided, Control, which sends the flow control packets that are owed,
// MaySend and Start. Transmitter.Free is the deadline of a frame that waits for the link,
// Resend that of the flow control packets.
//
// # Limitations
//
// A fault that takes a part of a receive buffer takes it from VL0. A link
// that goes down loses all frames in flight, but a frame whose header a cut-through
// switch has acted on counts as whole, because no frame can end early.
package port
