// Package port is one end of a link as a state machine: it decides when a frame may
// be sent, how long it takes the line, and which flow control the peer receives.
//
// A Port is made of
//
//   - a Line, the transmitter: it serialises one frame at a time, in picoseconds,
//     and computes each deadline from the ideal time before it, so that lateness
//     never adds up;
//   - a Credit for each virtual lane: InfiniBand's link-level flow control, with
//     absolute counters, so that a lost or repeated flow control packet heals;
//   - or, on Ethernet, PAUSE by port or by priority: a Buffer of the machine decides when
//     the peer is to Stop and when it may Resume, and Headroom how much room that needs;
//   - an Outbox, shared by the ports of a machine, from which the driver polls; it holds
//     the bodies of the frames that the machine has in hand (wire.Bodies).
//
// The package also holds the words of the contract between machines and drivers:
// Arrival, Transmission, Event, and Answer, the typed reply to "may I send?".
//
// The machine that owns a port calls, in this order: Receive for each frame that
// the link brings; Free when a frame has left the machine's buffer; then, once it
// has decided, Control to let owed flow control packets out, MaySend and Start.
// Line.Free is the deadline of a frame that waits for the line, Resend the deadline of the
// flow control packets.
//
// # Limitations
//
// Two lanes with credit: data, and ACKs, which have room of their own so that they
// never wait behind data for credit. A PAUSE is obeyed at once when it has come; the
// standard allows 60 quanta at 10 Gb/s for that. A link that goes down loses all that is
// under way, but a frame whose header a cut-through switch has acted on counts as
// whole: nothing ends a frame early.
package port
