// Package doctor examines the computer: how well it keeps time, what a datagram
// costs on it, which of its limits and settings are in the way of a run, and what
// to do about each.
//
// Examine measures and looks, for about two seconds, and returns a Report: the
// Figures as they are, and a Finding for each thing that matters, with a grade
// and with advice. Measure takes the Speed alone, which is what the choice of a
// dilation rests on (package propose).
//
// The lateness floor is what a loop sees that does nothing but read the clock:
// whenever it was away, an instant would have been served late. No program in
// user space does better on this computer than its Floor says.
//
// # Limitations
//
// Linux only. The loopback interface only. What is measured holds for the moment
// of the measurement: the load of others, a hypervisor and the temperature change
// it. Namespaces are tried for the network alone.
package doctor
