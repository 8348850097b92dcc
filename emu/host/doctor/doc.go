// Package doctor examines the computer: how well it keeps time, how much a datagram
// costs, which limits and settings are in the way of a run, and the remedy for each.
//
// Examine takes about two seconds and returns a Report: the Figures, and a Finding
// for each thing that matters, with a grade and with advice. Measure takes the Speed
// alone, on which package propose bases the choice of a dilation.
//
// The lateness floor is the lateness of a loop that does nothing but read the clock.
// Between two readings that are far apart, an instant would have been served late.
// No program in user space does better on this computer.
//
// # Limitations
//
// Linux only. The loopback interface only. A measurement holds for its moment: the load
// of others, a hypervisor and the temperature change it. Namespaces are tried for the
// network alone.
package doctor
