// Package dump reads captures: the captures of a run (package capture), those that tcpdump
// takes of its links, and captures of InfiniBand or RoCE by others. It prints a frame a
// line, with the words of the event log, and makes the checks that a capture allows.
//
// A Decoder turns a record of a capture into a Packet: the frame, with its link trailer if it
// has one; the headers of a packet that another program wrote; or the reason why the record
// cannot be read, with the field and its offset. A Checker takes the packets in their order
// and finds
//
//   - wrong checksums: ICRC, VCRC, LPCRC, FCS;
//   - credit that was overdrawn, or that does not add up: the blocks that a port has sent on a
//     lane, against the last FCCL that it received and the FCTBS that it sends; and the credits
//     of a virtual channel, by the parameters in the comment of the interface, against the last
//     CF_Update that it received and the CC_Updates that it sends;
//   - gaps in the sequences of links (trailers) and of flows (packet sequence
//     numbers), and frames of a link with retry that are retransmitted after their ACK, or that
//     follow a NACK and are not the frame that it asks for;
//   - packets of RoCEv2, and of all flows where the frames of one may take several paths, that the
//     source leaves out, that come more often than they were sent, or that do not leave the last
//     switch; ACKs of packets that have not come; and retransmissions after the ACK. Disorder is no
//     mistake: a Delivery counts it for each flow (delivery.go);
//   - frames whose transmission began while their port or priority was paused;
//   - answers to probes of E2CM that do not repeat their probe,
//   - rate-limited tags of BCN that follow no message of their congestion point, and
//     messages about a queue that is not too long to a flow without its tag.
//
// A frame that the capture of a run reports as lost, corrupted, refused or discarded has no effect
// at its receiver. The checksum of a corrupted frame must be wrong.
//
// It counts the checks, too: a capture that shows nothing proves nothing. A check without proof
// is a Gap: frames that were cut, FCTBS without the frames of its sender, frames that are
// missing. The capture may have lost such frames. So problems that follow from them are in
// doubt, and no mistakes. The numbers of trailers, marks of the capture itself, and statistics
// show that frames are missing.
//
// # Limitations
//
// Packets are followed from end to end only in the capture of a run, whose interfaces name the
// nodes at both ends of a link. Where a datagram of tcpdump has the frames of flows that take
// several paths, frames that overtake one another seem to be missing. The source is taken to know
// an ACK after twice the shortest time in which a packet has crossed its link and the switch there.
//
// An exported capture in which a display filter has left out frames seems to have mistakes.
// The duration of a pause follows from the rate of the interface, or from its last change in
// the capture of a run; in trailers, from the rate of the frame. The response to it is that of
// the run (links.response); in a capture by another program there is none. Fragments of IP are
// not put together.
package dump
