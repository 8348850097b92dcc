// Package record keeps what a run shows while it goes on: the figures, the digest of its
// events, and where they are wanted the event log and the capture.
//
// A Recording hears the machines by its Events and the links by the tap that Attach sets.
// End makes the Result of it.
//
// # Limitations
//
// What only the driver knows of a run is not recorded: its caller completes the Result.
package record
