// Package node is the endpoint: the machine at which traffic begins and ends.
//
// The way of a data frame out of an endpoint is the order of its files:
//
//  1. source.go: the source of a flow offers a packet, as its traffic (package
//     node/traffic) says: always, or when one arrives, or those of a transfer;
//  2. limiter.go, tokenbucket.go: the flow's RateLimiter says when it may start;
//  3. endpoint.go: the packet waits for the line; when the port has the line and
//     the credit, it starts, and the driver polls it.
//
// At the far end
//
//  4. sink.go counts the packet, frees its room in the buffer, and queues an ACK
//     that echoes the mark;
//  5. source.go, back at the source, hands the ACK to the flow's reaction point
//     (package node/rp), which may change the rate, and the window opens again.
//
// On Ethernet nothing is acknowledged and there is no window: the sink counts, and what
// comes back to the reaction point is a notification of a switch on the way. Flows may
// come under one limiter and one reaction point together (Shared).
//
// An Endpoint thinks and does nothing else: it is given the time and frames, and
// gives back frames. The rules between it and its driver stand in package
// emu/drive, on the type Machine.
//
// # Limitations
//
// An endpoint has one port. A packet that is lost is not sent again. On InfiniBand the
// fabric is lossless, and a loss is a violation; on Ethernet a transfer that misses
// packets says how many.
package node
