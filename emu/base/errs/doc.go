// Package errs holds two kinds of error that the whole program tells apart: a mistake that the user
// can correct, in a scenario or in a request (Mistake), and a panic that was recovered (Panic).
//
// A panic ends the process at once unless its own goroutine recovers it. So each goroutine of the
// program begins with Catch or Into: a mistake of the program then ends a run as any other error
// does, the figures so far are written, and the run's namespaces and files are removed.
// scripts/archtest lists the goroutines that need neither, with the reasons.
//
// # Limitations
//
// Nothing recovers an error for which Go itself ends a process, such as a map that two goroutines
// write or a stack that grows without end. A change that was in flight at the panic may be half
// done.
//
// A Mistake has no place in a file: errors of a scenario carry theirs themselves.
package errs
