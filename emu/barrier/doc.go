// Package barrier has goroutines wait for one another, hundreds of thousands of times in a second.
//
// # Limitations
//
// The goroutines of a barrier wait for all others, whatever happens: one that fails has to come all the
// same. Who waits spins, and takes a processor.
package barrier
