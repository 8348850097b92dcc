// Package fleet brings the machines together that run one fabric: which of them this one
// is (Fleet, from a launcher such as srun or from flags), and a connection from each to the
// first, over which both sides have proved that they have the run's token (Gather, Join).
//
// A connection is TLS 1.3, with a certificate that rank 0 makes for the run and no authority has
// signed. The token shows instead that a host of the run is at its other end: each side sends the
// HMAC-SHA256, under the token, of its own role, of keying material that is exported from
// the TLS session (RFC 5705, RFC 8446 section 7.5) and of the certificate. An attacker in
// the middle has two sessions, whose keying material differs, and can hand no proof on.
//
// # Limitations
//
// An observer of a handshake can try tokens out later, so a token has 16 characters at least.
// Addresses are the hosts' own: a translation of addresses (NAT) between them is not
// supported.
package fleet
