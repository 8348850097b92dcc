// Package spray chooses the path of each packet at its source: a number, the entropy, by which
// switches choose among equal paths, and which ACKs carry back. The policies and their constants
// are those of uet-htsim, the reference model of Ultra Ethernet (head 40ccb05: uec_mp.cpp,
// buffer_reps.cpp); REPS is by Bonato et al., arxiv.org 2407.21625, which was not at hand.
//
// # Limitations
//
// A Sprayer does not know which entropies share a link. It differs from the model in three points:
// a timeout there always names path 0, and here that of the packet; REPS there needs switches that
// trim packets, and here a timeout freezes it without them; and the list of paths that Mixed takes
// again has an end.
package spray
