package cp

import (
	"fabemu/wire"
	"fabemu/wire/trace"
	"fabemu/wire/unit"
)

// Point is a congestion point: one for each egress queue, or one for a switch
// where the scheme needs to see all of it. Time is handed to it and never goes
// back.
type Point interface {
	// Enqueue tells that f can be forwarded to q.Output. The switch has tried already:
	// q.Leaving says whether f has begun to leave. It returns a feedback frame for
	// the source of f, if the scheme sends one.
	Enqueue(now unit.Time, f *wire.Frame, q Queue) (feedback wire.Frame, ok bool)
	// Dequeue tells that f begins to leave by q.Output. It may mark f, and returns the
	// reason if it does.
	Dequeue(now unit.Time, f *wire.Frame, q Queue) trace.Reason
}

// Queue is what a congestion point sees of the place of a frame.
type Queue struct {
	Input   int    // port by which the frame came
	Output  int    // port by which it leaves
	Leaving bool   // it has begun to leave
	Switch  Switch // the rest of the switch with input buffers

	// Bytes is how much waits for Output in the class of the frame, the frame itself
	// included: of a switch that queues at its outputs.
	Bytes unit.Size
}

// Switch is what a congestion point sees of its switch, at the moment of the call.
// Only data frames count. Ports are numbered from 0.
type Switch interface {
	// Waiting returns how many frames wait for an output: cnt1 of the paper.
	Waiting(output int) int
	// Sending reports whether the line of an output serialises a frame.
	Sending(output int) bool
	// Blocked reports whether an output was recently blocked: the frames that wait
	// for it lack credit now, or the one it sends has had to wait for credit.
	Blocked(output int) bool
	// Full reports whether an input buffer counts as full.
	Full(input int) bool
	// Resident returns the i-th frame of an input buffer in order of arrival, which
	// output it is for, and whether it still waits; ok is false past the last.
	Resident(input, i int) (output int, waiting, ok bool)
	// Mark marks the i-th frame of an input buffer.
	Mark(input, i int, why trace.Reason)
}
