// Package retry is link layer retry (LLR) of Ultra Ethernet: one end of a link that retransmits
// lost frames.
//
// An End numbers the frames that it sends, keeps a copy of each until the peer has acknowledged it,
// and goes back to the first missing one when the peer asks for it (NACK) or nothing comes for the
// time of the replay timer. As a receiver it passes each frame once and in order. So flow control
// and transports above it see a link that loses nothing, until the replay count is used up or a
// frame is too old: then the End flushes its buffer, and starts again with a handshake.
//
// The main types are Profile, the parameters; End, the state machine; Counter, its statistics with
// the names of SAI; and Set, the content of an ordered set that is due.
//
// # Sources
//
// The rules are from two open texts: "SAI Proposal: Link Layer Retry" (opencomputeproject/SAI,
// doc/LLR), for the states, the counters, the three transitions into FLUSH, and the rule that a
// receiver is silent between its NACK and the frame that it awaits; and "SONiC Link Layer Retry"
// (sonic-net/SONiC, doc/llr), for the ranges and the sample values of profiles. Both review section
// 5.1 of the Ultra Ethernet specification 1.0, which we have not read. These choices are ours where
// the texts leave them open:
//
//   - An ACK is due once a frame has arrived that it would acknowledge, and the spacing since the
//     last ACK or NACK is over. A NACK does not wait for the spacing.
//   - A duplicate is acknowledged again, so that a lost last ACK repairs itself.
//   - A replay by NACK sends all frames behind the sequence of the NACK, in one go, ahead of new
//     frames.
//   - The replay count counts replays since the last ACK or NACK that freed a frame.
//   - INIT carries the sequence of the first frame to come and is repeated until its echo has
//     arrived.
//   - Frames of flow control are protected too, in order with data: PAUSE, PFC and flow control
//     packets. They may exceed the limits of the buffer, so that PAUSE never waits for an ACK.
//   - After a FLUSH numbering continues, so that an old ACK is not mistaken for a new one.
//
// # Limitations
//
// FCS errors come only from the faults of a link (wire/fault); there is no poisoned FCS. An ordered
// set is sent between two frames, not within one. A switch that cuts through acts on a frame as if
// it had read its FCS.
package retry
