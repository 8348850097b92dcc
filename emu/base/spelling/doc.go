// Package spelling finds the intended word for an unknown one: a field of
// a scenario, a link, a figure of a paper. Error messages ask "did you mean ...?" with
// it, and list the existing words, the nearest first.
//
// # Limitations
//
// Letters are counted as bytes: words of other alphabets are farther apart than they
// look.
package spelling
