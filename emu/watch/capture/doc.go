// Package capture writes the frames on the links of a run into one pcapng file, for
// Wireshark and for fabemu dump.
//
// Begin begins the Capture of a run, with the selection of a Request. The driver reports each
// frame that is sent or handed over. The nodes report their events (trace.Sink), with the facts
// that no byte of a frame holds: why a frame was marked, how much credit was left, how full a
// buffer was, why a frame was dropped. So a Capture has more than any tap on a link could.
//
// The calls only copy: a separate goroutine encodes the copies and writes them. Between
// them is a queue of fixed size. On the wall clock a loop that waits for a disk is late, so it
// leaves out and counts the frames that find the queue full. On the virtual clock the loop waits,
// and the file is the same on every node, byte for byte. In a run in processes the conductor
// waits, which keeps no time. A part leaves out and counts the frames that it cannot send to the
// conductor soon enough.
//
// Each port has an interface in the file, "B:3 <- A" for port 3 of B with A at the other end of
// its link. A frame is recorded once for each link that it crosses. Data, ACKs and notifications
// are outbound, at the port that sends them, when they begin on the link. Flow control packets,
// PAUSE and PFC are inbound, at the port that must obey, when its node may act on them. So the
// records of one interface show whether its port kept the rules. Options.Both records frames at
// both ends. Of data the first Options.Snap bytes are kept.
//
// InfiniBand packets are ERF records of type 21. Flow control packets are ERF records of type 25,
// filled up to 64 bytes, because Wireshark can open those. Frames of Ethernet are unchanged,
// with their FCS. Time stamps are in nanoseconds of model time, from 1970 on, or of wall time.
// Comments have the words of the event log:
//
//	credit 99 blocks        credit that is left on the lane after this frame
//	buffer 33 blocks        on inbound records of data: occupancy of the receive buffer of
//	                        the lane; on Ethernet in bytes
//	marked: full-buffer     the reason, with the frames that waited (cnt1), the
//	                        trigger, and the buffer that the frame stood in
//	late 1.3us              wall time after its instant at which a frame left
//	dropped: no-route       with the violated promise, if there is one
//	retry: RX_BAD           the retry of the link discards this frame, and its sender retransmits it
//	link-down               on a record without a frame: an event of the port, as
//	                        rate-change, link-up, restart, storm-start
//	machines 1 A, 2 B1      on the first record of a file: names, by LID
//	missing: 12 frames ...  so many had no place in the queue before this one
//
// A frame that its link has lost or corrupted did not arrive. Its inbound record has the flag of a
// start frame delimiter error (lost) or of a CRC error (corrupted), in ERF the error flag too, and
// the reason in its comment: "dropped: lost-on-link", "dropped: fcs-error", on a link with retry
// "retry: lost-on-link", "retry: RX_BAD". The last check sequence of a corrupted frame is wrong,
// unless the record is too short to have it.
//
// A capture may continue in another file (Options.Rotate). Each file can be read by itself. Its
// number is in a comment of its section: "part 2".
//
// The verdict of a run is in the statistics of the first interface, and in the comment of the
// section if the file can be written to after its end.
//
// # Limitations
//
// A frame that is dropped at an end that does not record it, or later than in the instant of its
// arrival, leaves an empty record with the reason. When the queue has overflowed, comments of later
// frames may be older than they should be.
package capture
