// Package assemble makes the machines of a fabric: the switches and endpoints of the
// scenario, with their limiters, reaction points and congestion points. It also makes
// the changes that the scenario's events cause during a run.
//
// # Limitations
//
// Machines that New has made share an outbox: one driver has all of them.
package assemble
