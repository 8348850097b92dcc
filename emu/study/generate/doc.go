// Package generate writes scenarios of the usual kinds in any size from a few
// endpoints to thousands: something to begin with, and something to measure a
// machine by.
//
// What [Write] returns is the text of a file as a user would write it, with
// comments, ranges, and a claim or two that hold. It does not read it: that is
// for package scenario.
//
// # Limitations
//
// All links of a file have one rate, and no source is controlled: each file says
// where to choose a law.
package generate
