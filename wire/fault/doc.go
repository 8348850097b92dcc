// Package fault decides the fate of each frame on a link that does not carry all of them as it
// should: it is lost, or corrupted, or late. A Direction holds the faults of one direction of a
// link. Another Direction holds the faults of the port that sends, which come before: a frame
// leaves twice, or frames behind it go first.
//
// Both ends of a link hold a copy of the Direction, and pass it all frames of it in their order.
// The copies then agree about each frame without a message between them: the receiver discards it,
// and the sender can name its consequences, such as a PAUSE that had no effect. All draws are from
// generators of the seed, so the fate of a frame is the same on every clock and over every carrier.
//
// # Limitations
//
// A link is a cable or a fibre: it neither duplicates frames nor changes their order, which only a
// port does. A late frame holds up the frames behind it. A corrupted frame ends at the first port
// behind the fault, also at a switch that cuts through, which in reality would have forwarded its
// beginning.
package fault
