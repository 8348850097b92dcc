// Package seeds has the figures of runs that differ in their seeds alone: of run --seeds, and of each combination of
// sweep --seeds.
//
// A Run is what one of them contributes: its figures, and the slowdown of the flows of each workload (SamplesOf). Repeat
// takes the mean of each figure, with its 95 % interval by Student's t (report.Estimate), and Pool the slowdown of each
// workload over the flows of all runs, with intervals by a bootstrap over the runs (Slowdown).
//
// # Limitations
//
// The flows of one run depend on one another, so the interval of a percentile is by the runs, and five or ten of them say
// little about rare events: where a p99 depends on a burst that one run in twenty has, the interval is too narrow.
package seeds
