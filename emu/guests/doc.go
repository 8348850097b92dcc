// Package guests joins real hosts to a fabric: endpoints that are network namespaces, whose
// default device leads here. What a guest sends becomes the bodies of the packets of the flow
// that the scenario has to its destination, and what arrives is written to the device of the
// guest that it is for.
//
// Open makes the namespaces and the devices (package netns). Guests is a drive.Outside, by
// which the loop of the wall driver reads the devices, and has a node.BodySource and a
// node.BodySink for each flow between guests. All of it runs in that loop: nothing is locked.
//
// # Back-pressure
//
// A device is read only while the packet that was read last has found room in the queue of
// its flow, of queueRoom packets. The flow takes packets out when its window, its limiter and
// flow control let one leave at that instant (node.BodySource). So what a PAUSE, missing
// credit or a limiter stops, waits in the guest's kernel, in one queue, as at a network card
// that is stopped: packets to other destinations wait behind it. What the kernel drops there
// for want of room it counts, and Report tells.
//
// # Frames
//
// A packet of IP is a body with its EtherType. A frame of a TAP device is a body with its
// EtherType too where its addresses are those of the machines of the fabric that it goes
// between, which the fabric's frame has: they are put back at the other end. Any other, a
// broadcast or a frame with an address that the guest has made up, is a body of type 6558, the
// whole of it (RFC 1701 has that type for Ethernet that is carried by something else). A
// broadcast goes by the first flow to each guest.
//
// # Time
//
// A packet comes into the fabric where the loop of the driver is. If that lags behind the wall
// clock, and has caught up when the packet comes out, the packet is kept back (transit): none is
// under way for less than the model says.
//
// # Limitations
//
// IPv6 is off in the namespaces. A guest's kernel computes all checksums, and does no
// segmentation for anybody: the packets on the fabric are those on the wire.
package guests
