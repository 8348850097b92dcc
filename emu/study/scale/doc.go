// Package scale slows a scenario down for real time: the same fabric with links of another rate,
// and all times in proportion (resolve.Scale). It lists the times that stay out of proportion
// where endpoints are real hosts.
//
// # Limitations
//
// Rates and times are recognised by the types of fields. Numbers in commands, in texts and in the
// output of programs stay as they are.
package scale
