// Package propose finds by trial the smallest dilation at which this machine sustains a scenario.
//
// Dilation makes short runs of the busiest stretch of a scenario (Try) at dilations from a sequence
// of round numbers, and returns the smallest that is sustained.
//
// # Limitations
//
// A proposal holds while the other load of the machine stays as it was. A trial starts with the
// flows of the busiest stretch, not with its queues. It starts no real guests.
package propose
