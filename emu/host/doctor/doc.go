// Package doctor examines the machine: which settings and limits are in the way of runs on the wall
// clock, and the remedy for each.
//
// Examine returns a Report: the Figures, and a Finding for each thing that matters, with a grade
// and with advice. How well the machine keeps time is a matter of trial runs: see package propose.
//
// # Limitations
//
// Linux only. Only network namespaces are tried.
package doctor
