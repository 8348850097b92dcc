// Package told writes down what the source of a flow was told, with the times: the feedback
// that its reaction point took in, and the rates that its limiter was set to. What is
// written can be handed to another limiter or reaction point (fabemu bench limiter
// --replay). The words for frames are also those of the line protocol (package foreign).
//
// A recording is text, version 1. The head says where it comes from, a key and a value a
// line; then each line is an instant in picoseconds of model time and what was told:
//
//	fabemu told 1
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
// bits per second and bytes; begin is when the flow becomes active. A rate is what the
// limiter was set to. A line that begins with # is a comment. The last line is the end of
// the run: without it the recording is not whole.
//
// # Limitations
//
// What a source was asked, and when its packets started, is not in it: that follows from
// the limiter.
package told
