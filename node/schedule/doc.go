// Package schedule runs the program of one rank of a parallel job: sends, receives and
// computation, each of which begins when the operations that it requires have ended or begun.
//
// A Program yields the operations of a rank one by one. There are two kinds:
//
//   - Collective.Program: a collective operation by one of the algorithms that MPI and NCCL
//     use, repeated as often as wanted;
//   - Goal.Program: a section of a GOAL file, read as a stream.
//
// A Rank executes a Program. It is a state machine: Advance begins whatever is due, Message
// hands out the messages to send, Sent and Received report their fate, Deadline is the end of
// the next computation. The caller's loop:
//
//	rank.Advance(now)
//	for m, ok := rank.Message(); ok; m, ok = rank.Message() {
//		... send m.Size bytes to m.To, with m.Tag; call rank.Sent(now, m.ID) when they are acknowledged
//	}
//	... call rank.Received(now, from, tag) for each message that has come whole
//	... come back at rank.Deadline(), until rank.Done() or rank.Err() != nil
//
// A receive takes the first message with its tag from its peer, as in MPI: messages of one
// peer and one tag match receives in their order, and a message may come before its receive
// has begun. Where messages carry no tags (Config.Untagged) the messages of one peer match in their
// order. A send ends with Sent; it needs no receive on the other side. The job ends when
// each rank is Done. Where it cannot end, Waiting lists the operations of a rank that wait for
// a message, and Unclaimed lists the messages that wait for a receive.
//
// # Memory
//
// A rank holds the operations that are read and have not ended. It reads no further than it
// must so that no operation begins later than its program allows; a program promises by its
// Reach how far that is. Config.Window bounds the operations that are open at once, and 8 times
// as many dependencies between them: where none is given, 65536 operations of some 150 bytes
// each. A program that needs more ends with an error that names the rank and the operation.
// Messages that come before their receives are bounded by the window too. Nothing is allocated
// for a message once the rank has had as many operations open before.
//
// # Sources
//
// Ring, recursive halving and doubling, pairwise exchange, binomial tree: R. Thakur,
// R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in MPICH"
// (2005). Dissemination: D. Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier
// Synchronization" (1988). Bus bandwidth: the file doc/PERFORMANCE.md of NVIDIA's nccl-tests.
// GOAL: T. Hoefler, C. Siebert, A. Lumsdaine, "Group Operation Assembly Language" (2009), and
// the grammar in txt2bin of spcl/LogGOPSim.
//
// # Limitations
//
// A processor takes time for computation only: sending and receiving cost it nothing, which
// LogGOPSim's parameter o would express. All messages go eagerly; there is no rendezvous. A
// receive names its peer and its tag. The reduction of an all-reduce takes no time.
package schedule
