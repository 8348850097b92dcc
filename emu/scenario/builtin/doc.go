// Package builtin holds the scenarios that come with the program: each is a
// file as a user would write it, with the claims of the document that it
// reproduces.
//
// hpl2002 is J. R. Santos, Y. Turner and G. Janakiraman, "Evaluation of
// Congestion Detection Mechanisms for InfiniBand Switches", HPL-2002-224 (also
// GLOBECOM 2002): Fig. 2 without congestion control, Fig. 3(a) to (d) with
// naive, input-triggered and input-output-triggered marking.
//
// ethernet covers lossless Ethernet itself: the effect of PAUSE and PFC on a bystander, incast
// with and without flow control, a slow receiver, a pause storm, a ring that
// deadlocks, and a link whose headroom is used to the last frame.
//
// guest has real hosts as endpoints, and needs root: TCP and HTTP over lossless links.
//
// bench has the fabrics on which all schemes are compared (fabemu reproduce compare-schemes). In
// the files they are without control, on InfiniBand.
//
// loop has the situations in which reaction points are tried (fabemu bench limiter ALGORITHM,
// package loops). In the files lipd is, on InfiniBand.
//
// # Limitations
//
// Claims that compare two runs are not part of a scenario: they are checked by
// tests.
package builtin
