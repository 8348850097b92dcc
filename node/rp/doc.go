// Package rp holds the reaction points: the algorithms by which a source changes its rate when
// feedback shows that its packets met congestion, or did not.
//
// A Controller governs one rate-limited flow. It receives the bytes that were sent and the feedback
// that arrived, and decides the rate of the flow; the rate limiter (package node) turns the rate
// into instants.
//
// An algorithm of your own is a type with the methods of Controller, which is handed on in a
// Reaction. A program passes it to a run in emu.Schemes, and to its tests in
// reactiontest.Run. A permanent algorithm has a row in Algorithms, and its parameters in a
// struct (Algorithm.Params). Each algorithm of the table can also be made directly: NewQCN with
// QCNParams, and so on.
//
// The algorithms of HPL-2002-224 and the reports around it (Santos, Turner, Janakiraman) follow one
// design rule: one packet time at the lowest rate after a mark, the rate is back at its old value.
// So 1/Rmin is the recovery time of LIPD and FIMD at every rate; the recovery of AIMD takes longer
// at higher rates.
//
// QCN (IEEE 802.1Qau) is of another kind: it receives feedback only about congestion, in
// notifications from the congestion point, and recovers by itself, with a byte counter and a timer.
//
// BCN receives feedback about both congestion and room, in messages: the source computes the
// feedback, and its frames carry a tag while it is limited. E2CM adds probes: the source of a
// limited flow measures how much of the flow is in the fabric, and the algorithm of BCN uses that,
// too.
//
// # What an algorithm may do in addition
//
// Algorithm.Feedback chooses the feedback that a Controller receives. The other fields of a
// Reaction are functions that most algorithms do not need: it may
//
//   - use each ACK, and limit the bytes in flight (Acknowledged)
//   - use what was trimmed or not acknowledged in time, packet by packet (Trimmed, Expired)
//   - ask for credit of the destination, and send by it (Demand, Allowance)
//   - refuse some feedback (Refuses)
//   - change data frames (Tag); Traits.Frame has their greatest length
//   - send its own frames, such as probes (Send); Traits.Sends declares them
//   - govern a group of flows (Active, Join), which Traits.By and Traits.Key form
//   - take over, during a run, the state of the one before it (Inherit)
//   - take note of the end of its flow (Ended)
//   - have results show its target rate, and its log of congestion (Target, Log)
//
// Algorithm.Answer makes an Answerer, the part at the destination: it receives data frames and the
// frames that the reaction point sends. Where
// only one of several flows at an endpoint may answer at a time it is TakingTurns. A struct of
// parameters may be a Traited (properties that follow from the values), a SiteChecker (values that
// are invalid at a link), Tripped (values that follow from the round trip of the fabric), an
// Adapter (values that decide about the feedback), a param.Completer (defaults that follow from
// others) and a param.Explainer (text for the reference).
//
// # Limitations
//
// The algorithms of the HP papers are applied once for each ACK. The lowest rate was not published;
// its ratio to the highest, rmax-over-rmin, is 256 by default, fitted to the figures of the paper.
package rp
