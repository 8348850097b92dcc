// Package pcapng writes and reads capture files, as bytes and no more. It does not look into
// packets.
//
// It writes the blocks of pcapng (draft-ietf-opsawg-pcapng) that a capture of a
// fabric needs: a Section, an Interface for each port, a Packet with its comments
// and its direction, and Statistics at the end. It is here because the writers of
// the usual libraries have neither comments nor directions. All numbers are
// written with the low byte first, on every node.
//
// A Reader reads pcapng and the older pcap of any program, of either byte order. It trusts
// nothing: lengths are checked before they are used, a mistake in the file is an error with its
// offset, and the Reader never panics.
//
// # Limitations
//
// Time stamps are written in nanoseconds. Enhanced, simple and obsolete packet blocks are read:
// those are all the blocks that carry a packet. Of names the Ethernet addresses are read. Other
// blocks, and the secrets that a capture may carry, are skipped.
package pcapng
