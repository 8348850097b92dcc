// Package pattern reads names of nodes, links and flows, ranges of names ("A[1-10]") and the pairs
// of them that links join ("A[1-10] - A").
//
// # Limitations
//
// A name has one range, of at most 65536 names.
package pattern
