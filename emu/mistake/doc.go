// Package mistake tells errors that the user of the program can mend, in a scenario or
// in what was asked for, from failures of a run.
//
// # Limitations
//
// An Error has no place in a file: errors of a scenario carry theirs themselves.
package mistake
