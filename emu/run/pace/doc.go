// Package pace holds the measurements of a run: its progress, and how closely it keeps to the
// wall clock.
//
// A driver counts into a Timing and moves a Progress on. The Timings of several processes are merged
// (Timing.Merge), and travel as JSON. Package emu/result/report makes the verdict of a Timing.
//
// # Limitations
//
// Lateness above 100 s is not recorded. Of stalls and faults the first ones are kept, and the others
// are counted.
package pace
