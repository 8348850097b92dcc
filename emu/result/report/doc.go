// Package report holds the results of a run: a Result, which is also
// result.json, the series (series.csv), and the log of events (events.jsonl, events.bin). It judges
// each claim (JudgeClaim), and whether a run on the wall clock kept its time (Judge). Package
// summary writes the results for people.
//
// The path of a run's figures: the nodes' events go through a trace.Batch to a
// metrics.Collector, a Digest and, where asked for, an EventLog (package emu). At the
// end New makes a Result of its state (metrics.View), the same that observers see. The driver's
// measurements (FiguresOf) go through Judge into its Verdict. WriteDir or WriteJSON write it down,
// and ReadDir reads such a directory again.
//
// In result.json shares are 0 to 1, instants and spans of model time are whole
// picoseconds in fields that end in _ps, rates are bytes per second, and an
// unknown or undefined figure is null.
//
// # Limitations
//
// A Digest is not a cryptographic hash: it finds accidents, not forgeries. An
// EventLog needs the events of a run in the order of time.
// The form of result.json has a number (Form). A form that is newer than the program is refused;
// there is no older one yet.
package report
