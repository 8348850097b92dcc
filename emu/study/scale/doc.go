// Package scale slows a scenario down for real time: the same fabric with links of another rate,
// and all times in proportion (scenario.Scale). It adds what is not in proportion where
// endpoints are real hosts.
//
// # Limitations
//
// What a rate or a time is, the types of the fields say: of numbers in commands, in texts and
// in the output of programs nobody knows it.
package scale
