// Package metrics counts the reports of the nodes of a fabric, and answers how
// much of a count fell into an interval of model time.
//
// A Collector is a trace.Sink, and a trace.Counter: where nothing else wants the
// events, nodes count each frame themselves, and the others come as events. Both
// are the hot path of the whole program: they add to counters, and never allocate,
// look up a map or divide. The counters only grow. At every edge of the time bins they are
// copied into their own row. So the growth between two edges is the
// difference of two rows, and no check has to read the run again.
//
// The edges are the multiples of a twentieth of the scenario's measure.window,
// both ends of every check, and the end of the run. So the figures over a
// check's interval are exact; at an instant that is not an edge a counter is
// interpolated between its neighbours.
//
// Compile reads the expressions in which scenarios name figures:
//
//	trunk.A-B.utilisation       data on the line from A to B over its capacity
//	remote.rate / local.rate    a quotient of two figures
//	local.B1.marked             share of the flow's data frames that came marked
//
// A figure is a row of the table (table.go). Losses, Retries and Credits are no second form: they
// list the counters that rows read, as they are, by the port that counts.
//
// # Limitations
//
// Occupancy and stalls are counted for lane 0 only, which carries the data. Very long runs
// are counted in wider bins, so that the rows fit into 256 MiB (at least two bins to a window;
// New refuses runs that need more). A Collector belongs to one goroutine.
package metrics
