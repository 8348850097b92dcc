// Package generate writes scenarios of the usual kinds in any size from a few
// endpoints to thousands: a first scenario, or a load for a computer.
//
// [Write] returns the text of a file as a user would write it, with comments, ranges,
// and a claim or two that hold. Package scenario reads it.
//
// # Limitations
//
// All links of a file have one rate, and no source is controlled. A comment in each file shows where to choose a
// law.
package generate
