// Package timing holds what a run measures of itself: how far it is, and how closely
// it keeps to the wall clock.
//
// A driver counts into a Timing and moves a Progress on. Those of several processes are merged
// (Timing.Merge), and travel as JSON. The verdict is made of a Timing, in package emu/report.
//
// # Limitations
//
// Lateness above 100 s is not recorded. Of stalls and faults the first ones are kept, and the others
// are counted.
package timing
