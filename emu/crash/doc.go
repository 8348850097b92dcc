// Package crash makes errors of panics, so that a mistake of the program ends a run as any other error
// does: what was measured is written, and what was made for the run is removed.
//
// A panic ends the process at once unless its own goroutine recovers it. So each goroutine of the program
// begins with Catch or Into, and says what becomes of its panic. Which ones need none, and why, stands in
// scripts/archtest.
//
// # Limitations
//
// What Go itself ends a process for, such as a map that two goroutines write or a stack that grows without
// end, nothing recovers. What was being changed when the panic came may be half done.
package crash
