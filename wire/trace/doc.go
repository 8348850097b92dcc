// Package trace holds the reports of nodes: events, and the sinks that take
// them. Nodes only report facts; a sink counts (emu/metrics), writes
// (events.jsonl) or compares (the digest of two runs). Between them is a Batch, which
// several nodes may share: on the virtual clock it hands many events on at a time. Where only
// figures are wanted, a Recorder counts itself what each frame does at ports (Counts) and for
// flows (Flow), and reports only the other events.
//
// An Event is a flat value of fixed size, comparable and with a codec, so that
// two logs are the same when their bytes are. Each node numbers its own
// events; the log of a run is the merge of the nodes' logs by (time, node,
// number).
//
// Nothing in an Event depends on the wall clock: facts that only a wall run has
// (such as lateness) are reported by the driver separately.
//
// # Limitations
//
// A Sink cannot refuse an event nor slow the node down. The numbers of a
// node's events wrap after 2^32 of them.
package trace
