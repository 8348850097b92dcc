// Package lookahead is where the parts of a run agree on how far each may go, so that none does an
// event before a frame from another part that precedes it in the order of the model.
//
// A part reports its progress (Report), and receives the earliest instant at which a frame can come
// (Promise). Promises are based on the least durations in the fabric (Fabric, Boundary).
//
// A part has a Participant. On one machine that is a Board in memory that all parts share: each
// part computes the promises itself. Otherwise one process has the Coordinator, which receives
// reports and sends promises, and each part has a Delegate. Both compute the same promises.
//
// # Limitations
//
// There is no promise about a path that takes no time. A Coordinator, a Board or a Delegate may be
// used by only one goroutine at a time.
package lookahead
