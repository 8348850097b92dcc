// Package selective decides what is missing of a flow whose packets may come in any order, at both
// its ends. A Scoreboard is at the source: it knows which packets have arrived, and which are lost
// and have to be retransmitted. Arrivals are at the destination: they know which packets have come
// ahead of their turn.
//
// The source learns two things from an ACK: up to which packet all have come, and one packet that
// has come in addition. These are the cumulative and the selective acknowledgement of IRN (Mittal
// et al., Revisiting Network Support for RDMA, SIGCOMM 2018, section 3.1).
//
// # Limitations
//
// An ACK names one packet at most. If it is lost, the source takes the packet for lost, unless a
// later ACK covers it, and the destination refuses the duplicate.
package selective
