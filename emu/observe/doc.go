// Package observe shows a run to others while it goes on, and lets them change it.
//
// An Observer is handed a Snapshot from time to time, at the rate that its Request asks for: how
// far the run is and what its verdict would be, the figures (metrics.View has every quantity of
// the one table), what each port and flow is in, what waits for what (Stall, Tree), deadlocks,
// the checks that can be decided, and events of the kinds that it names.
//
// A run pays little for it. Its loop only copies: into memory that was made before the run,
// between two events, on the wall clock where it has time to wait (drive.Visitor). Everything
// else is done by a goroutine of the Hub, and each observer is called on a goroutine of its own.
// One that is slow misses snapshots, which is counted (Snapshot.Missed); one that panics hears
// nothing more. The warnings of the result tell of both.
//
// Changes applies events of the language of scenarios to a run on the wall clock. What was done
// is part of the scenario from then on: of what is measured, verified, and written.
//
// # Limitations
//
// Figures are complete up to View.End, some bins behind Snapshot.Now.
//
// Where machines live in processes of their own, the conductor knows what they report and no
// more: a verdict comes at the end only, deadlocks are not looked for, who keeps an output
// waiting is told by the ways of the flows that cross it (Snapshot.ByWays), and nothing can be
// changed.
package observe
