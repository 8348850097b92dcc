// Package machines makes the machines of a fabric: of each switch and endpoint of the
// scenario, with its limiters, reaction points and congestion points, and what changes
// them while the fabric is driven.
//
// # Limitations
//
// Machines that New has made share an outbox: one driver has all of them.
package machines
