// Package seeds combines the results of runs that differ only in their seeds: for run --seeds, and
// for each combination of sweep --seeds.
//
// A Run is what one of them contributes: its figures, and the slowdowns of each workload's flows
// (SamplesOf). Repeat returns the mean of each figure, with its 95 % interval by Student's t
// (report.Estimate). Pool returns the slowdown of each workload over the flows of all runs, with
// intervals from a bootstrap over the runs (Slowdown).
//
// Two sets of repetitions are compared by pairs of runs with one seed (Paired): Difference is of
// figures, Ratios of slowdowns. Load reads the runs of a set again.
//
// # Limitations
//
// The flows of a run depend on each other, so the interval of a percentile comes from the variation
// between runs. Five or ten runs say little about rare events: if a p99 depends on a burst in one
// run of twenty, its interval is too narrow.
package seeds
