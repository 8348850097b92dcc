// Package perfetto writes a run as a trace for Perfetto (https://ui.perfetto.dev), where it
// can be zoomed, searched and queried with SQL.
//
// A node is a process with these tracks, each only if something happens on it:
//
//   - a track for the link of each port, with a slice for each frame (data by the name of
//     its flow, others by their kind), and instants for the events there: marks,
//     notifications, drops, violations, changes from outside;
//   - a track for the waiting frames of that line, by lane: a slice while there is no credit,
//     while it is paused, while the link is down;
//   - a track for each flow at its source: slices for the causes that keep it, instants for
//     feedback that has a content, timeouts, transfers;
//   - on the wall clock, a track for the pace of each port: an instant for each data frame
//     that left late, which is more than 5 % of its duration after its time;
//   - counters: bytes that wait for a port, the content of a buffer, credit that is left, the
//     rate of a flow and its target.
//
// The frames of one flow can be followed: arrows lead from hop to hop.
//
// Time is model time in nanoseconds, rounded down. A slice ends no later than the next one on
// its track begins, and a slice whose rounded length is 0 becomes an instant. So the slices of
// a track never overlap.
//
// The numbers of fields are from protos/perfetto/trace in Perfetto's repository:
// trace_packet.proto, track_event/track_event.proto, track_event/track_descriptor.proto,
// track_event/counter_descriptor.proto, track_event/debug_annotation.proto and
// interned_data/interned_data.proto.
//
// # Limitations
//
// A run whose nodes live in several processes has no trace. A frame of data with
// everything around it takes some 100 bytes a hop; Request.From and Until, or Counters,
// keep a trace small.
package perfetto
