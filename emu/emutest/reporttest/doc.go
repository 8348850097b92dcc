// Package reporttest has the results of a small run, for the tests of package report and of the
// packages that write them.
//
// # Limitations
//
// The fabric is laid out by hand: it has three flows, and no flow control.
package reporttest
