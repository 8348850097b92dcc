// Package pace holds the measurements of a run: its progress, and how closely it keeps to the
// wall clock.
//
// A driver counts into a Record and advances a Progress. The Records of several processes are sent
// as JSON and merged (Record.Merge). Package emu/result/report makes the verdict from a Record. A
// loop that spins keeps to its Share of a processor.
//
// # Limitations
//
// Lateness above 100 s is not recorded. Of stalls and faults the first ones are kept, and the
// others are counted.
package pace
