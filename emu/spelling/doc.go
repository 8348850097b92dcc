// Package spelling finds the word that was meant by one that is not known: a field of
// a scenario, a link, a figure of a paper. Error messages ask "did you mean ...?" with
// it, and list what there is, the nearest first.
//
// # Limitations
//
// Letters are counted as bytes: words of other alphabets are farther apart than they
// look.
package spelling
