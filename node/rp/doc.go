// Package rp holds the reaction points: the laws by which a source changes its
// rate when feedback shows that its packets met congestion, or did not.
//
// A Controller sees one rate-limited flow. It receives the bytes that were sent and the feedback that came
// back, and decides at which rate the flow may go; the rate limiter (package node)
// turns the rate into instants.
//
// A law of your own is a type with the methods of Controller. It may also be a Tagger, a
// Limiting, a Sender, a Targeted or a Judge; most are none of these. A program hands it to a
// run by emu.Schemes and to its tests by limitertest.RunController. A law that stays has a row
// in Laws, its parameters in a struct (Law.Params), and perhaps an Answerer at the
// destination; the other interfaces here are the further abilities of a Controller.
// Each law of the table can be had by itself: NewQCN with QCNParams, and so on.
//
// The laws of HPL-2002-224 and the reports around it (Santos, Turner,
// Janakiraman) follow one design rule: after a mark, the rate is back where it was
// one packet time at the lowest rate later. So 1/Rmin is the recovery time of LIPD
// and FIMD at every rate; AIMD takes longer the higher the rate.
//
// QCN (IEEE 802.1Qau) is of another kind: it receives feedback about congestion only, by
// notifications from the congestion point, and recovers by itself, by a byte
// counter and a timer.
//
// BCN receives feedback about both congestion and room, by messages: the source computes the feedback, and
// its frames carry a tag while it is limited. E2CM adds probes: the source of a limited flow
// measures how much of the flow is in the fabric, and the law of BCN takes that in, too.
//
// # Limitations
//
// The laws of the HP papers are applied once for each ACK. The lowest rate was not published; its
// ratio to the highest, rmax-over-rmin, is 256 by default, fitted to the figures
// of the paper.
package rp
