// Package traffic decides when there is something to send, how much, and to whom.
//
// A Generator is a sequence of arrivals, each at an instant of model time. It does
// not decide their fate: arrivals wait in package node until the window, the limiter
// and the link let a packet go. The kinds:
//
//   - Constant: packets at equal distances;
//   - Bernoulli: in each slot of the link a packet, or none;
//   - Poisson: packets at exponential distances;
//   - Bursts: on and off, both Pareto distributed, back to back while on;
//   - Transfers: a number of bytes each, all at once or as a Poisson process.
//
// Greedy traffic needs no generator: there is always a packet.
//
// Random numbers come from the generator of package unit, so that a seed gives the same
// arrivals forever. They are turned into distributions with integers only, never with
// the logarithms and powers of the floating-point library, whose last bits differ
// between processors. A mean is kept to 2^-64 of a picosecond and times are rounded only
// as they are handed out: rounding never adds up.
//
// # Limitations
//
// Destinations are uniform. A Pareto distribution is cut off at 2^40 times its least value.
// With a shape near 1, no run is long enough to show its mean.
package traffic
