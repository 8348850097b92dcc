// Package cp holds the congestion points: how a switch detects that it is congested, and whom it
// notifies.
//
// A Point is called at two moments of a data frame's stay. Enqueue comes when the frame can be
// forwarded and the switch has tried to: it either has begun to leave (it cut through) or it waits.
// Dequeue comes when it begins to leave. The Point marks frames, or returns a notification to send
// to the source. A Dropper is called before the frame joins a queue, and may discard it.
//
// The three marking schemes of HPL-2002-224, section IV, are one Point, InputMarking, with two
// settings: which condition triggers a marking event, and which packets it marks.
//
//	scheme         triggered by                        marks
//	naive          a full input buffer                 the packets in that buffer
//	input          a full input buffer                 all packets that wait for an output
//	                                                   that a packet in that buffer waits for
//	input-output   that, or an output for which        the same, or all that wait for that
//	               threshold packets wait              output
//
// They see input buffers. QCN and BCN see the length of an output's queue, and send notifications;
// RED sees it too, and drops frames or marks them; ECN marks them with the probability curve of
// RED. These are for switches that queue at their outputs. New and switchd.NewOutputQueued refuse a
// scheme that is for a switch of the other kind.
//
// # What a congestion point may do in addition
//
// A Point is made as a Marker, a Notifier or a Dropper; Point.Sees chooses buffers of inputs or
// queues of outputs. The rest is optional. A Marker at a switch with input buffers may delay credit
// (Marking.Starve), and report how long outputs were congested (Marking.Congested). It sees that
// switch through the interface Switch. A Marker that is Quiet while queues are short lets a switch
// plan departures. A struct of parameters may be
//
//   - a Traited: Traits declare notifications, counting in cells, levels and probabilities of
//     marking, and whether a Dropper spares frames that must not be lost
//   - a RoomChecker: values are checked against the memory
//   - a SwitchFitter: defaults follow from the switch
//   - a Scaled: its thresholds depend on the rate of the output
//   - a Triggered: it returns what must wait for an output before the point acts, so that a check
//     can warn where no queue is long enough
//
// # Limitations
//
// A Point sees only data frames; ACKs are neither counted nor marked.
package cp
