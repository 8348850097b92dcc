// Package feedback records the feedback of the source of a flow, with the times: the frames that
// its reaction point took in, and the rates that its limiter was set to. Another limiter or
// reaction point can take a recording (fabemu bench limiter --replay). The line protocol (package
// program) has the same words for frames.
//
// A recording is text, version 1. The head describes its origin, a key and a value a
// line; then each line is an instant in picoseconds of model time and an entry:
//
//	fabemu recording 1
//	scenario incast
//	flow sender1
//	family ethernet
//	line 10000000000
//	packet 1500
//	begin 50000000
//
//	50000000 rate 10000000000
//	73216000 feedback cnm fb=23 psn=17 qoffset=-40 qdelta=12
//	10000000000 end
//
// line is the rate of the source's line and packet the length of its packets on it, in
// bits per second and bytes; payload, trip and hops (see Head) may follow; begin is when the flow
// becomes active. A rate is the new rate of the limiter, window and credit what else the reaction
// point permits. A line that begins with # is a comment. The last line is the end of
// the run: without it the recording is not whole.
//
// # Limitations
//
// A recording has no calls of the limiter, and the starts of packets only where the reaction point
// counts credit: otherwise they follow from the limiter. It has no parameters of the algorithm.
package feedback
