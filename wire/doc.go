// Package wire holds the frames of the fabric, as values and as bytes.
//
// A frame as a value is a Frame: small, comparable, copied freely. Its payload
// is a length; the content is padding, or a Body, which is elsewhere (Bodies). A
// frame as bytes is in a datagram, and Wireshark decodes it:
//
//	data packet   LRH 8 | BTH 12 | payload | ICRC 4 | VCRC 2
//	  with a body                  type 2 | 0 0 | body | pad
//	ACK           LRH 8 | BTH 12 | AETH 4  | ICRC 4 | VCRC 2
//	flow control  Op, FCTBS | VL, FCCL | LPCRC                      (6 bytes)
//
// and, of the Ethernet family,
//
//	data          DA 6 | SA 6 | 802.1Q 4 | [CN-TAG 4] | [RLT 14] | 88B5 | header 12 | padding | FCS 4
//	  of a guest  DA 6 | SA 6 | [802.1Q 4] | [CN-TAG 4] | [RLT 14] | EtherType and all behind | FCS 4
//	CNM           DA 6 | SA 6 | 802.1Q 4 | [CN-TAG 4] | 22E7 | PDU 24 to 88 | FCS 4
//	BCN           DA 6 | SA 6 | 802.1Q 4 | [CN-TAG 4] | 88B5 | PDU 20 | sampled frame 64 to 78 | FCS 4
//	message       DA 6 | SA 6 | 802.1Q 4 | [CN-TAG 4] | 88B5 | PDU 16 | zeros | FCS 4   (64 bytes)
//	probe         DA 6 | SA 6 | 802.1Q 4 | [CN-TAG 4] | 88B5 | PDU 32 | zeros | FCS 4   (64 bytes)
//	PAUSE, PFC    DA 6 | SA 6 | 8808 | opcode | times | zeros | FCS 4   (64 bytes)
//	CC_Update     DA 6 | SA 6 | 8808 | FFFE | FA7ACB | type 1 | counters 40 | FCS 4   (64 bytes)
//	ordered set   DA 6 | SA 6 | 88B5 | set 8 | zeros | FCS 4   (64 bytes, 8 on the line)
//
// and, of RoCEv2, behind the same DA, SA, 802.1Q and tags,
//
//	data          0800 | IPv4 20 | UDP 8 | BTH 12 | payload | ICRC 4 | FCS 4
//	              86DD | IPv6 40 | ...
//	ACK, NAK      0800 | IPv4 20 | UDP 8 | BTH 12 | AETH 4  | ICRC 4 | FCS 4
//	CNP           0800 | IPv4 20 | UDP 8 | BTH 12 | zeros 16 | ICRC 4 | FCS 4
//	trimmed       0800 | IPv4 20 | UDP 8 | BTH 12 | the first bytes of what followed | FCS 4
//
// The 12 bytes in front of the payload of a data frame name the flow, as the headers of
// InfiniBand do. The frame of a guest is its own; the fabric adds only tags that priorities and
// congestion schemes need.
//
// After the frame's own bytes comes the link trailer (64 bytes, found from the
// end), which carries the facts that a cable would have shown to the receiver: when the
// frame was on the link, and in which order.
//
// Each kind has a row in kinds.go and its own file with Append, Parse and the table of its fields.
// Append writes exactly WireSize bytes. Parse never panics, never allocates, and refuses bytes that
// it does not understand with a *ParseError that names the field and its offset. Bytes that
// Parse accepts, Append writes again byte for byte.
//
// These words have one meaning in the whole project: a port is one end of
// a link; a link is the path between two ports; a line is the transmitter that
// serialises; flow control is credit (or PAUSE) on a link; a flow is traffic
// from one endpoint to another, with its own rate limiter; a lane is a virtual
// lane (VL); a mark is the ECN bit: FECN on data, CE in an IP header, BECN on the return path.
//
// # Limitations
//
// Of InfiniBand, packets with local routing (no GRH): reliable connected SEND-only
// packets and their ACKs. Of Ethernet, frames between nodes of the fabric, on no
// VLAN but with a priority; a PFC frame stops all its classes for one time. Of RoCEv2, SEND-only
// packets, ACKs, NAKs for a packet out of sequence, and CNPs; the ECN field is never ECT(1). A
// notification carries the headers of the sampled frame, as in a frame without a body,
// and zeros.
package wire
