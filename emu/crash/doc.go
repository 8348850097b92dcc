// Package crash turns panics into errors, so that a mistake of the program ends a run as any other error does:
// the figures so far are written, and the run's namespaces and files are removed.
//
// A panic ends the process at once unless its own goroutine recovers it. So each goroutine of the program
// begins with Catch or Into, which handles its panic. scripts/archtest lists the goroutines that need none,
// with the reasons.
//
// # Limitations
//
// Nothing recovers an error for which Go itself ends a process, such as a map that two goroutines write or a
// stack that grows without end. A change that was under way at the panic may be half done.
package crash
