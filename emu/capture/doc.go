// Package capture writes what crosses the links of a run into one pcapng file, for
// Wireshark and for fabemu dump.
//
// Begin begins the Capture of a run, with what a Request selects. A Capture is told by the
// driver what is sent and what is handed over, and by the machines, whose events it takes
// as a trace.Sink, what no byte of a frame says: why a frame was marked, how much credit
// was left, how full a buffer was, why a frame was dropped. So it knows more than any tap
// on a link could. The calls only copy: a goroutine of its own makes bytes of the copies
// and writes them. Between them is a queue of fixed size. Where the loop that keeps to the
// wall clock tells the capture, what finds it full is counted and left out, because a loop
// that waits for a disk is late. On the virtual clock the loop waits, and the file is the same
// on every machine, byte for byte. In a run in processes the conductor waits, which keeps no
// time: a part leaves out and counts what it cannot tell the conductor soon enough.
//
// Each port has an interface in the file, "B:3 <- A" for port 3 of B at whose other
// end A is. A frame is recorded once for each link that it crosses: data, ACKs and
// notifications outbound, at the port that sends them, when they begin on the line; flow
// control packets, PAUSE and PFC inbound, at the port that must obey, when its machine may
// act on them. So the records of one interface show whether its port kept the rules.
// Options.Both records frames at both ends. Of data the first Options.Snap bytes
// are kept. InfiniBand packets are ERF
// records of type 21 and flow control packets such of type 25, filled up to 64
// bytes, because that is what Wireshark can open; frames of Ethernet stand as they
// are, with their FCS. Time stamps are in nanoseconds of model time, from 1970 on,
// or of wall time. The words are those of the event log:
//
//	credit 99 blocks        what is left on the lane after this frame
//	buffer 33 blocks        on inbound records of data: occupancy of the receive buffer of
//	                        the lane; on Ethernet in bytes
//	marked: full-buffer     the reason, with the frames that waited (cnt1), the
//	                        trigger, and the buffer that the frame stood in
//	late 1.3us              wall time after its instant at which a frame left
//	dropped: no-route       with what was violated, if anything was
//	link-down               on a record without a frame: what became of the port, as
//	                        rate-change, link-up, restart, storm-start
//	machines 1 A, 2 B1      on the first record of a file: names, by LID
//	missing: 12 frames ...  so many had no place in the queue before this one
//
// A capture may go on in another file (Options.Rotate); each has all that is needed to
// read it, "part 2" among the comments of its section says which it is.
//
// The verdict of a run stands in the comment of the section, where the file can be
// written to after its end, and in the statistics of the first interface.
//
// # Limitations
//
// A frame that is dropped at an end that does not record it, or later than in the instant
// in which it was handed over, leaves an empty record with the reason. When the queue has overflowed, comments
// of what follows may be older than they should be.
package capture
