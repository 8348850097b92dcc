// Package sweep runs a scenario many times, over lists of values of its fields.
//
// A Plan names a scenario, the varied fields (Axes), and the measured quantities (Metrics). Its
// cells are all combinations; the last axis varies fastest. Run does those that are not
// done yet, or a share of them (package campaign), several at a time on the virtual clock,
// one after another on the wall clock. Draw draws the finished cells. The directory then has:
//
//	cells/         a file for each finished cell, named by the hash in its ID
//	sweep.csv      a row for each cell: its ID, the values, and the figures
//	means.csv      with Plan.Seeds, a row for all repetitions of a combination
//	NAME.svg       a figure for each metric: the first axis is horizontal, with a curve
//	               for each combination of the others
//
// So a sweep that was killed, at any moment, continues where it was, and a finished sweep is
// only drawn again. A different scenario, value, metric, clock or program version gives a cell
// a different file. With Options.Force all cells are repeated.
//
// # Limitations
//
// A figure of a metric that the sweep no longer has stays in the directory. Values are as in --set,
// and are compared as text: "1ms" and "1000us" differ. A value cannot contain a comma. If the
// scenario of one cell is invalid, so is the sweep, and nothing is run. Axes are not coupled: each
// combination is a cell.
package sweep
