// Package propose measures at which dilation this computer runs a scenario with timing
// that can be trusted.
//
// Dilation makes a Proposal from the doctor's measurements of the computer, the cost of a frame of the
// scenario, and the number of frames over time. For actual timing, Measure measures how
// late packets start at some dilations.
//
// # Limitations
//
// A proposal holds while the other load of the computer stays as it was. It is for runs in one process,
// over UDP.
package propose
