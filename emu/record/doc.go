// Package record keeps the records of a run while it runs: the figures, the digest of its
// events, and where they are wanted the event log and the capture.
//
// A Recording receives the events of the nodes (Events), and the frames on the links by the tap that
// Attach sets. End makes the Result of it.
//
// # Limitations
//
// The figures of the driver are not recorded: the caller completes the Result.
package record
