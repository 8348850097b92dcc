// Package scenario is the model of scenarios: the nodes of a fabric, the links between them, the
// traffic that crosses them, and the claims about the outcome. docs/guide/scenarios.md and
// docs/reference describe the language; [Language] returns all of it, with defaults, units and
// bounds, from the tags of [Scenario] and of the types in it.
//
// Package resolve reads a Scenario from a file (resolve.Load) and prints one. [New] and its like
// begin a Scenario that is built in Go. A [Site] is a scenario that is being read, with the fabric
// that follows from it, for rules about several values.
//
// # Buffers
//
// A buffer is given in packets of the largest size that crosses the link, or in bytes. Credits
// count it in blocks of 64 bytes of the packet on the wire: a payload of 2048 bytes is 2074 bytes
// with its headers and CRCs, 33 blocks. A receiver advertises at most 2048 blocks at a time (the
// counters are modulo 4096), so that a larger buffer never has more than 128 KiB granted in
// advance.
//
// # Ethernet
//
// A link with flow-control: pause, pfc or none is a link of Ethernet, and the switch at its end is
// output-queued. The headroom of a link has room for the frames that still arrive after a PAUSE was
// due. resolve.Load refuses a high watermark that leaves less room, with the arithmetic.
//
// # Routes
//
// Frames take the shortest path, counted in links, or with routing: ecmp any one of the shortest. A
// switch then chooses by a hash of the flow's addresses and queue pair (wire.Choose), with a seed
// of its own, so that the choices of switches in a row are independent. [PathTable] has the path of
// each flow before the run. Transfers of workloads and frames of guests choose during the run. So
// resolve.Load checks buffers, headroom and notifications for all links that frames may cross, with
// any choice among equal paths.
//
// With routing: {paths: ecmp, balance: random}, and other words, a switch chooses for each frame or
// flowlet (switchd.Balancing). Then the path of a flow in PathTable is only one of those that its
// frames take.
//
// With routing: {recompute: 1ms} all switches change at one instant to routes for the links as they
// were 1 ms before. Until then frames for a link that is down wait. Then they take the new path,
// behind the frames that wait there. Otherwise they would hold the memory, and stop the senders,
// as long as the link is down. Frames on a link stay there. If no path is left, frames wait for the
// link.
//
// # Limitations
//
// All links of an output-queued switch have the same flow control.
package scenario
