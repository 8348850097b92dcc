// Package observe shows a run to others while it runs, and lets them change it.
//
// An Observer receives a Snapshot from time to time, at the rate that its Request asks for. A
// snapshot has the progress of the run and its verdict so far; the figures (metrics.View has
// every quantity of the one table); the state of each port and flow; the graph of waiting (Stall,
// Tree); deadlocks; the checks that can be decided; and events of the kinds that the request
// names.
//
// A run pays little for it. Its loop only copies: into memory that was made before the run,
// between two events, on the wall clock where it has time to wait (drive.Visitor). A goroutine of
// the Hub does all else, and calls each observer on its own goroutine. A slow observer
// misses snapshots, which are counted (Snapshot.Missed). An observer that panics receives nothing
// more. The warnings of the result report both.
//
// Changes applies events of the language of scenarios to a run on the wall clock. A change is
// part of the scenario from then on: of its measurements, its verification and its files.
//
// # Limitations
//
// Figures over a time are complete up to View.End, some bins behind Snapshot.Now. Counters and
// states are those at Now.
//
// Where nodes live in their own processes, the conductor has only their reports: a verdict
// comes at the end, deadlocks are not looked for, the paths of flows show who keeps an output
// waiting (Snapshot.ByPaths), and nothing can be changed.
package observe
