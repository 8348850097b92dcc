// Package process runs the nodes of a fabric on the wall clock, in this process or in separate
// processes. A Plan chooses; Plan.Run opens the links and runs the fabric.
//
// With processes, a run has one conductor, which is the process that the user started, and parts:
// one process for each node, or for each switch with its endpoints. Each part has a file (File)
// with its nodes, its ends of links and the dilation. For each part the conductor starts its own
// program again, so that both sides are the same build, and passes it the sockets of its links and
// one end of a socket pair, over which the two communicate (message.go):
//
//  1. A part (Serve) lays out the scenario, opens its links and reports that it is ready.
//  2. When all parts are ready, the conductor sends the epoch, an instant of CLOCK_MONOTONIC a
//     little ahead, and the secret that their datagrams carry, which is not in any file, and all
//     parts start.
//  3. Parts send the events of their nodes, in batches and when they have nothing else to do; the
//     conductor merges them by time. A part that has nothing else to send reports that it is alive,
//     unless its process is stopped (board.go, promises.go). The events include the frames that a
//     capture or a trace needs (frames.go). At the instants of the watch, parts send the frames
//     that wait in their nodes, and the conductor looks for deadlock among them (deadlock.go).
//  4. A part that has reached the end of the run waits until all have. It then drains its sockets
//     and sends its measurements and, for each link, how many datagrams it has sent and received.
//
// Each part makes its status socket. A socket that a dead part has left behind is removed at the
// end of its run, or when the next run starts (Tidy).
//
// The kernel kills a part whose conductor has died, even one that is stopped (host.ChildGuard); a
// part that was started by hand sees its socket close and ends too. If a part dies or sends a wrong
// message, the run ends with an error that contains the part's name and the end of its log.
//
// TestSimulatedFaults runs the same code, conductor and parts, in simulated time over a network
// that loses, delays and forges datagrams, with parts that are stopped and killed.
//
// A run on several hosts has one part on each host, which exists before the run (hosts.go). It
// communicates over TLS (package fleet), receives the list of its nodes, opens the links with the
// conductor's help, and then does all of the above. The conductor measures the part's clock before
// the run and at its end (clocks.go), and sends the epoch in the part's time.
//
// # Limitations
//
// Between hosts each promise costs a round trip. A process lives as long as the run: a switch that
// an event restarts loses its state, not its process.
package process
