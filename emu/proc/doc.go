// Package proc runs the machines of a fabric on the wall clock: in this process, or in
// processes of their own. A Plan says which; Plan.Run opens the links and runs it.
//
// In processes a run has one conductor, the process that the user started, and parts: a process
// for each machine, or for each switch with the endpoints at it. Each part has a
// file that says what it is (File): which machines, which ends of which links,
// which dilation. The conductor starts its own program again for each of them, so
// that both sides are of one build, and hands it the sockets of its links and one
// end of a socket pair. Over that they talk (message.go):
//
//  1. A part (Serve) lays out the scenario, opens its links and says that it is ready.
//  2. When all are, the conductor names the epoch, an instant of CLOCK_MONOTONIC
//     that is a little ahead, and the secret that their datagrams carry, which no
//     file has, and all begin.
//  3. Parts send what their machines report, in batches and when they have nothing
//     else to do; the conductor merges it by time. One that has nothing to say says that
//     it is there, unless its process is stopped (alive.go).
//     So they tell the frames that a capture or a trace wants (frames.go).
//     At the instants of the watch they tell what waits in their machines, and the
//     conductor looks for deadlock in that (deadlock.go).
//  4. A part that has come to the end of the run waits until all have; it then
//     reads what is left in its sockets and sends its measurements and, for each
//     link, how many datagrams it has sent and received.
//
// The conductor makes the status socket of each part that it starts, so that one that
// outlives it takes no name away from the next run; what a dead run has left is removed
// when a run begins (Tidy).
//
// The kernel kills a part whose conductor has died, even one that is stopped (Cradle); one
// that was started by hand sees the end of its socket and ends too. A part that dies, or
// says what it may not, ends the run: the error names it, and has the end of what it wrote.
//
// TestSimulatedFaults runs the same code, conductor and parts, in simulated time over a
// network that loses, delays and makes up datagrams, with parts that are stopped, killed
// and restarted.
//
// A run on several hosts has one part on each, which is there before the run (hosts.go,
// agent.go): it talks over TLS (package hosts), hears over that which machines it has, opens
// the links with the conductor's help, and then does all of the above. Its clock is read
// before the run and at its end (clocks.go), and the epoch named by it.
//
// # Limitations
//
// Late, frames can be overtaken (see drive.Part). Events of parts are merged by their keys as far
// as they come in order; an event that is told late is recorded after events of a later instant.
package proc
