// Package pcapng writes and reads capture files, as bytes and no more: what a
// packet is, others know.
//
// It writes the blocks of pcapng (draft-ietf-opsawg-pcapng) that a capture of a
// fabric needs: a Section, an Interface for each port, a Packet with its comments
// and its direction, and Statistics at the end. It is here because the writers of
// the usual libraries know neither comments nor directions. All numbers are
// written with the low byte first, on every machine.
//
// A Reader reads pcapng and the older pcap, of either byte order, whoever wrote
// them. It believes nothing: lengths are checked before they are used, what is
// wrong is an error with its offset in the file, and it never panics.
//
// # Limitations
//
// Time stamps are written in nanoseconds. Blocks with packets in other forms than
// the enhanced and the simple one, and the secrets that a capture may
// carry, are skipped; of names those of addresses of Ethernet are read.
package pcapng
