// Package port is one end of a link as a state machine: it says when a frame may
// be sent, how long it takes the line, and what the peer may be told.
//
// A Port is made of
//
//   - a Line, the transmitter: it serialises one frame at a time, in picoseconds,
//     and computes each deadline from the ideal time before it, so that lateness
//     never adds up;
//   - a Credit for each virtual lane: InfiniBand's link-level flow control, with
//     absolute counters, so that a lost or repeated flow control packet heals;
//   - an Outbox, shared by the ports of a machine, from which the driver polls.
//
// The package also holds the words of the contract between machines and drivers:
// Arrival, Transmission, Event, and Answer, the typed reply to "may I send?".
//
// The machine that owns a port calls, in this order: Receive for each frame that
// the link brings; Free when a frame has left the machine's buffer; then, once it
// has decided, Control to let owed flow control packets out, MaySend and Start.
// Line.Free is the deadline of whoever waits for the line, Resend that of the
// flow control packets.
//
// # Limitations
//
// Credit is the only flow control so far. Two lanes: data, and ACKs, which have
// room of their own so that they never wait behind data for credit.
package port
