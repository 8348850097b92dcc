// Package mode has the words that choose how a scenario is run: the clock, the time source of
// limiters, the carrier of frames, the place of nodes, and when a run is compared with the virtual
// clock. They are the words of the flags of fabemu run, of result.json and of the files of
// processes.
//
// # Limitations
//
// The packages that act on a word check it; this one only declares them.
package mode
