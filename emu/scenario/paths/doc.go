// Package paths finds the shortest paths of a fabric.
//
// A path goes over switches only: an endpoint is where one begins or ends.
// Length is the number of links. Of several shortest paths from a node the
// one is taken whose next node has the first name, compared byte by byte (so
// that "S10" comes before "S2"), and over parallel links the one that was given
// first. So each node has one next hop towards a destination, and paths that meet stay
// together. Graph.Steps has all next hops, in that order.
//
// # Limitations
//
// Lengths are numbers of links: their rates do not count.
package paths
