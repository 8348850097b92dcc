// Package guest joins real hosts to a fabric: endpoints that are network namespaces, whose
// default device leads here. A packet that a guest sends becomes the body of a packet of the
// scenario's flow to its destination. When that arrives, the body is written to the device of the
// other guest.
//
// Open makes the namespaces and the devices (package netns). Guests is a drive.Outside, by
// which the loop of the wall driver reads the devices, and has a node.BodySource and a
// node.BodySink for each flow between guests. All of it runs in that loop: nothing is locked.
//
// # Back-pressure
//
// The loop reads a device when it looks outside and when a flow takes a packet, but only after the
// last packet has found room in the queue of its flow (queueRoom packets). The flow takes a packet
// when its window, its limiter and flow control let one leave at that instant (node.BodySource). So
// packets that a PAUSE, missing credit or a limiter stops wait in the guest's kernel, in one queue,
// as at a network card that is stopped: packets to other destinations wait behind them. The kernel
// counts the packets that it drops there for lack of room, and Report has the count.
//
// # Existing hosts as guests
//
// A guest can be in a namespace that others have made, and it can be an interface (place.go). The
// frames of such guests have addresses that are not the fabric's: Guests learns the guest behind
// each address, and sends a frame to an address that it has not learned to all. Changes of a device
// by others are events of the result, and a guest whose device is gone takes no part any more. A
// device has IPv6 where the guest has an address of it.
//
// # Frames
//
// On Ethernet a guest's frame crosses the fabric as it is. A packet of a TUN device gets the
// addresses of its two nodes. A frame of a TAP device is a body with its EtherType if its addresses
// are those, and otherwise, as a broadcast or one with an address of the guest's own, a body of
// type 6558 as a whole (RFC 1701 has that type for Ethernet inside another protocol): this
// distinguishes them on InfiniBand. A broadcast takes the first flow to each guest.
//
// # Time
//
// A packet enters the fabric at the loop's present model time. If the loop lags behind the wall
// clock then, and has caught up when the packet comes out, the packet is kept back (transit):
// none is in flight for less than its time in the model.
//
// # The card
//
// A guest's kernel leaves checksums and large segments of TCP to its network card, which is here
// (card, package offload): one system call moves many packets. The packets on the fabric are the
// packets on the wire, with whole checksums. Packets that arrive may wait for the next one of their
// connection: 64 µs, or up to 4 ms where the loop is late by as much. A packet that comes alone
// does not wait.
//
// # Adapters
//
// A guest with an adapter (adapter.go) has a queue, a rate limiter and a reaction point for each
// RoCEv2 queue pair, and notification points. Its device is read without back-pressure.
//
// # Limitations
//
// IPv6 is off in a namespace whose guest has no address of it.
package guest
