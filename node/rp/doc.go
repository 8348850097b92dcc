// Package rp holds the reaction points: the algorithms by which a source changes its rate when feedback
// shows that its packets met congestion, or did not.
//
// A Controller governs one rate-limited flow. It receives the bytes that were sent and the feedback that
// arrived, and decides the rate of the flow; the rate limiter (package node) turns the rate into instants.
//
// An algorithm of your own is a type with the methods of Controller. It may also be a Tagger, a Limiting,
// a Sender, a Targeted or a Judge; most are none of these. A program passes it to a run in emu.Schemes,
// and to its tests in limitertest.RunController. A permanent algorithm has a row in Laws, its parameters
// in a struct (Law.Params), and perhaps an Answerer at the destination; the other interfaces here are
// optional abilities of a Controller. Each algorithm of the table can also be made directly: NewQCN with
// QCNParams, and so on.
//
// The algorithms of HPL-2002-224 and the reports around it (Santos, Turner, Janakiraman) follow one design
// rule: one packet time at the lowest rate after a mark, the rate is back at its old value. So 1/Rmin is
// the recovery time of LIPD and FIMD at every rate; the recovery of AIMD takes longer at higher rates.
//
// QCN (IEEE 802.1Qau) is of another kind: it receives feedback only about congestion, in notifications
// from the congestion point, and recovers by itself, with a byte counter and a timer.
//
// BCN receives feedback about both congestion and room, in messages: the source computes the feedback, and
// its frames carry a tag while it is limited. E2CM adds probes: the source of a limited flow measures how
// much of the flow is in the fabric, and the algorithm of BCN uses that, too.
//
// # Limitations
//
// The algorithms of the HP papers are applied once for each ACK. The lowest rate was not published; its
// ratio to the highest, rmax-over-rmin, is 256 by default, fitted to the figures of the paper.
package rp
