// Package generate writes scenarios of the usual kinds in any size from a few
// endpoints to thousands: a first scenario, or a load for a machine.
//
// [Write] returns the text of a file as a user would write it, with comments, ranges,
// and a claim or two that hold. Package scenario reads it.
//
// # Limitations
//
// An endpoint has one link; a host with several links is several endpoints. Torus and dragonfly are
// left out: their routes without deadlock change the lane of a frame in flight, and switches keep
// it.
package generate
