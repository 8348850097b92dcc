// Package node is the endpoint: the node at which traffic begins and ends.
//
// A rate limiter only has to implement RateLimiter; InterPacketDelay and TokenBucket are two
// of them. The rest is the endpoint in which limiters work.
//
// An Endpoint is made from its Config (config.go). The path of a data frame out of it follows the
// order of its files:
//
//  1. source.go: the source of a flow offers a packet when its traffic (package node/traffic)
//     has one: always, or when a packet arrives, or the packets of a transfer; packets.go numbers
//     them, and the window of transport.go decides whether one more may be in flight;
//  2. pacer.go: the flow's Pacer, which belongs to one flow or to several flows that take
//     turns, asks its RateLimiter;
//  3. limiter.go, tokenbucket.go: the limiter decides when the packet may start;
//  4. endpoint.go: the packet waits for the link; when the link is idle and has credit, the
//     packet starts, and the driver polls it.
//
// At the destination
//
//  5. sink.go counts the packet, frees its room in the buffer, and queues an ACK that echoes the
//     mark;
//  6. packets.go, back at the source, takes in the ACK: the window opens again, and source.go
//     passes the ACK to the reaction point of the flow's Pacer (package node/rp), which may change
//     the rate.
//
// The flow's Transport handles packets in flight (transport.go has the table): it makes the sender
// of a source and the receiver of a sink, which have all that differs between transports. With TCP
// the sender is a stream (stream.go) instead of packets: package node/tcp chooses the next
// segment, the limiter and the link decide when it leaves, and the ACKs of the sink are frames of
// the endpoint's own. On Ethernet, with Datagrams, nothing is acknowledged and there is no window:
// the sink counts, and the feedback to the reaction point is a notification of a switch on the
// path, or a message of the flow's rp.Answerer at its destination: feedback.go finds the flow,
// decides whether it accepts the feedback, and sends the scheme's own frames.
//
// The payload of a flow's packets is padding, unless the flow has a BodySource: then its sender
// is bodies (body.go), around the packets of its transport, and each packet carries a body from it,
// for example a packet of a kernel or of a program, and a BodySink at the other end receives it.
// The caller supplies both (emu.Schemes), and so connects the fabric to real traffic.
//
// An Endpoint is a pure state machine: it receives the time and frames, and returns frames. The
// rules between it and its driver are documented on the type Node of package emu/run/drive.
//
// # Limitations
//
// An endpoint has one port. Lost packets are retransmitted only if the transport is TCP, RoCE, or
// Acknowledged with a Timeout. Without a Timeout a loss on InfiniBand, which is lossless, is a
// violation; on Ethernet a transfer that misses packets reports how many.
package node
