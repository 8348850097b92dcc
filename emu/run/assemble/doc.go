// Package assemble makes the nodes of a fabric: the switches and endpoints of the
// scenario, with their limiters, reaction points and congestion points. It also makes
// the changes that the scenario's events cause during a run.
//
// # Limitations
//
// Nodes that New has made share an outbox: one driver has all of them.
package assemble
