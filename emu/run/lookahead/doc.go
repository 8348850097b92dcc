// Package lookahead is where the parts of a run agree on how far each may go, so that none does an
// event before a frame from another part that comes first in the order of the model.
//
// A part states how far it is (Report), and receives the earliest instant at which a frame can come
// (Promise). Promises rest on the least durations in the fabric (Fabric, Boundary).
//
// A part has a Participant. On one computer that is a Board in memory that all parts share: each part computes
// the promises by itself. Elsewhere one process has the Coordinator, receives statements and sends promises, and
// a part has a Delegate. Both compute alike.
//
// # Limitations
//
// There is no promise about a path that takes no time. The council is for one goroutine at a time.
package lookahead
