// Package propose measures at which dilation this computer runs a scenario with timing
// that can be trusted.
//
// Dilation makes a Proposal out of what doctor has measured of the computer, what a frame
// of the scenario costs on it, and how many are sent when. For actual timing it is measured how
// late packets start at some dilations.
//
// # Limitations
//
// A proposal holds while the computer does what it did when it was measured. It is for
// runs in one process, over UDP.
package propose
