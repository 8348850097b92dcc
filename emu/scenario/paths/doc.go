// Package paths finds the shortest paths of a fabric.
//
// A path goes over switches only: an endpoint is where one begins or ends.
// Length is the number of links. Of several shortest paths from a node the
// one is taken whose next node has the first name, compared byte by byte (so
// that "S10" comes before "S2"), and over parallel links the one that was given
// first; so a node has in one direction towards each destination, and all that meet
// there go on together. Graph.Steps has all of them, in that order.
//
// # Limitations
//
// Lengths are numbers of links: their rates do not count.
package paths
