// Package barrier lets goroutines wait for one another, hundreds of thousands of times in a second.
//
// # Limitations
//
// Every goroutine of a barrier has to come, one that has failed too: the others wait for it without end. A
// goroutine that waits spins, and takes a processor.
package barrier
