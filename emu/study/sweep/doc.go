// Package sweep runs a scenario many times, over lists of values of its fields.
//
// A Plan names a scenario, the varied fields (Axes), and the measured quantities (Metrics). Its
// cells are all combinations, the last axis the fastest. Run does those that are not
// done yet, or a share of them (package campaign), several at a time on the virtual clock,
// one after another on the wall clock. Draw draws the cells that are done. Into the directory come:
//
//	cells/         a file for each cell that is done, named by the hash in its ID
//	sweep.csv      a row for each cell: its ID, the values, and the figures
//	means.csv      with Plan.Seeds a row for all repetitions of a combination
//	NAME.svg       for each metric a figure: the first axis to the right, and a curve
//	               for each value of the others
//
// So a sweep that was killed, at any moment, continues where it was, and one that is done is
// only drawn again. A cell with another scenario, other values or metrics, another clock or another
// version of the program has another file. With Options.Force all cells are repeated.
//
// # Limitations
//
// A figure of a metric that the sweep no longer has stays in the directory. Values are as in --set, and are compared as texts: "1ms" and
// "1000us" are two. A value has no comma. A cell whose scenario is a mistake is one of
// the sweep, and nothing is run. Axes are not coupled: each combination is a cell.
package sweep
