// Package node is the endpoint: the machine at which traffic begins and ends.
//
// A rate limiter needs RateLimiter alone; InterPacketDelay and TokenBucket are two
// of them. The rest is the endpoint that they work in.
//
// An Endpoint is made from its Config (config.go). The way of a data frame out of it is the order of
// its files:
//
//  1. source.go: the source of a flow offers a packet, as its traffic (package
//     node/traffic) decides: always, or when one arrives, or the packets of a transfer;
//     transport.go decides whether another one may be on its way;
//  2. group.go: the flow's group, of itself alone or of several flows that take turns, asks
//     its RateLimiter;
//  3. limiter.go, tokenbucket.go: the limiter decides when the packet may start;
//  4. endpoint.go: the packet waits for the line; when the port has the line and
//     the credit, it starts, and the driver polls it.
//
// At the far end
//
//  5. sink.go counts the packet, frees its room in the buffer, and queues an ACK
//     that echoes the mark;
//  6. source.go, back at the source, hands the ACK to the reaction point of the flow's
//     group (package node/rp), which may change the rate, and the window opens again.
//
// The flow's Transport handles packets on their way (transports.go has the table).
// With TCP the source of a flow has a stream (stream.go) in place of packets: package node/tcp
// chooses the next segment, the limiter and the line when it leaves, and the ACKs of the sink
// are frames of the endpoint's own. On Ethernet, with Datagrams,
// nothing is acknowledged and there is no window: the sink counts, and the feedback to
// the reaction point is a notification of a switch on the way, or a message of the Answerer of
// the flow at its destination (rp.Answerer): feedback.go finds its flow, decides whether it is
// wanted, and sends the scheme's own frames.
//
// The payload of a flow's packets is padding, unless the flow has a BodySource (body.go): then
// each has the body that it gives, a packet of a kernel or of a program, and a BodySink at the
// other end takes it. The caller supplies both (emu.Schemes): by them real bytes go in and come out.
//
// An Endpoint is a pure state machine: it receives the time and frames, and returns
// frames. The rules between it and its driver stand in package
// emu/run/drive, on the type Machine.
//
// # Limitations
//
// An endpoint has one port. Packets that are lost are sent again only where the transport is
// TCP, or Acknowledged with a Timeout. Without one a loss on InfiniBand, which is lossless, is a
// violation; on Ethernet a transfer that misses packets reports how many.
package node
