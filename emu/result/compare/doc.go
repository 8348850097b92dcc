// Package compare puts the results of runs side by side: one on the virtual
// clock and one on the wall, with ideal and with actual timing, at two dilations, with
// two seeds.
//
// Dirs reads two results directories and compares
//
//   - their verdicts, their settings, and the lines in which their scenarios differ;
//   - the value of each check that both have, and the figures of each workload;
//   - each series that both have: the root of the mean square of the difference, in the
//     unit of the series and as a share of the series itself, and the instant of the
//     largest difference;
//   - their event logs, where both were written: the first event at which they part.
//
// Of two sets of repetitions (seeds.Repetitions) it compares the means, by pairs of runs with one
// seed, and marks differences that are noise.
//
// Several does so for any number of runs, each in addition to the first.
//
// # Limitations
//
// Series are compared at the instants of the first, in the time that both cover. Between
// its own instants the second is interpolated. Pace is not compared, because only a wall
// run has one.
package compare
