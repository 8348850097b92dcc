// Package report says what came out of a run: as a Result, which is also
// result.json, as text for a terminal, as curves (rates.svg) and tables
// (series.csv), and as a log of events (events.jsonl). It judges each claim (JudgeClaim),
// and whether a run on the wall clock kept its time (Judge).
//
// The way of a run's figures: the machines' events go through a trace.Batch to a
// metrics.Collector, a Digest and, where asked for, an EventLog (package record). At the
// end New makes a Result of the collector; what the driver measured (FiguresOf) goes
// through Judge into its Verdict; WriteDir and WriteText, or WriteJSON, write it down.
//
// ReadDir reads such a directory again, and WritePage makes of it report.html, one
// file for browsers that opens offline. A Page can be made of anything else that has
// claims, pictures and a verdict.
//
// In result.json shares are 0 to 1, instants and spans of model time are whole
// picoseconds in fields that end in _ps, rates are bytes per second, and what is
// not known or not defined is null.
//
// # Limitations
//
// A Digest is no cryptographic hash: it finds accidents, not forgeries. An
// EventLog wants the events of a run in the order of time. rates.svg shows at
// most 16 curves; series.csv has all. A page shows of many flows one for each group.
// ReadDir takes only what this version would write: there is no reader for older
// forms.
package report
