// Package tcp is the Transmission Control Protocol of a flow: a Sender at its source and a
// Receiver at its destination. Both are pure: they receive the time and segments, and
// return segments.
//
//   - params.go: the parameters of a flow.
//   - sender.go: the handshake, the next segment that may be sent, timers (RFC 9293, RFC 6298).
//   - congestion.go: slow start, congestion avoidance, fast retransmit and fast recovery,
//     marks (RFC 5681, RFC 6582, RFC 3042, RFC 3168).
//   - dctcp.go: the window by the fraction of marked bytes (RFC 8257).
//   - scoreboard.go: which parts of the stream the receiver has (RFC 2018), and which parts are
//     lost then (RFC 6675).
//   - receiver.go: reassembly, when to acknowledge, the window (RFC 9293, RFC 5681).
//
// Data goes in one direction, from the Sender to the Receiver. Positions in the stream are counted
// in 64 bits from SYN, which has position 0, so nothing wraps but the numbers in segments.
//
// # Limitations
//
// A connection lasts as long as its flow, and is opened by the Sender. There are no time
// stamps, so sequence numbers must not wrap while a segment may be in flight; no urgent data, no
// keep-alive, no path MTU discovery, no Nagle: the bytes of an application leave as soon as the
// windows allow.
package tcp
