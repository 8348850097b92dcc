// Package deadlock finds outputs that wait for each other in a cycle.
//
// A fabric without loss can come to a standstill: each output of a cycle waits for room that only
// the next one could make. Switches report the outputs that their frames wait for (Waiter). Outputs
// that could still make room are taken out until only those are left that cannot. If nothing moves
// any more and no endpoint expects anything (Expecter), the run is over.
//
// A driver asks its Detector at intervals of model time, as the last of all events of an instant.
//
// # Limitations
//
// A look costs as much as there are frames in the switches. An output that has waited for less than
// an interval is not seen as waiting, but at the end of the run.
package deadlock
