// Package uet has the state machines of a packet delivery context of Ultra Ethernet transport (the
// packet delivery sublayer, PDS): a Sender at the source of a flow, and a Receiver at its
// destination. They receive the time and the headers of packets, and decide what was newly
// acknowledged, what is lost, when a timer ends, and which answer a packet gets.
//
// The layout of headers is in package wire. Behaviour is that of the reference model uet-htsim and
// of the reference provider uet-ref-prov; parameters name theirs. The specification itself decides
// where it differs.
//
// # Limitations
//
// Contexts are established: there is no handshake, and they are not closed. There is neither
// idempotent delivery (RUDI) nor delivery without ACKs (UUD), no security sublayer, and no answer
// of the semantic sublayer.
package uet
