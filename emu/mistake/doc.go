// Package mistake separates errors that the user can correct, in a scenario or in a
// request, from failures of a run.
//
// # Limitations
//
// An Error has no place in a file: errors of a scenario carry theirs themselves.
package mistake
