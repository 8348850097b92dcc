// Package dump reads captures: those of a run (package capture), those that tcpdump
// takes of its links, and those that others took of InfiniBand or RoCE. It prints a
// frame a line, with the words of the event log, and checks what a capture can show.
//
// A Decoder turns what a capture holds into a Packet: the frame, with its link
// trailer if it has one; the headers of a packet that others wrote; or why it could
// not be read, with the field and its offset. A Checker is handed the packets in
// their order and finds
//
//   - wrong checksums: ICRC, VCRC, LPCRC, FCS;
//   - credit that was overdrawn, or that does not add up: what a port has sent on a
//     lane, in blocks, against the FCCL that it was told last and the FCTBS that it
//     tells;
//   - gaps in the sequences of links (trailers) and of flows (packet sequence
//     numbers);
//   - frames whose transmission began while their port or priority was paused;
//   - answers to probes of E2CM that do not say what the probe has said,
//   - rate-limited tags of BCN that follow no message of their congestion point, and
//     messages about a queue that is not too long to a flow without its tag.
//
// It says how much of each it has seen, too: a capture that shows nothing proves
// nothing. What it cannot prove is a Gap: frames that were cut, FCTBS that no record of
// its sender's frames can be held against, frames that are missing. The capture may
// have lost those, so what follows from them is in doubt, and no mistake: numbers of
// trailers, marks of the capture itself, and statistics show that frames are missing.
//
// # Limitations
//
// What a display filter has left out of an exported capture looks like a mistake.
// Pauses are reckoned with the rate of the interface, or with that of the last change that the
// capture of a run notes; in trailers, with that of the frame. Fragments of IP are not put together.
package dump
