// Package runtest has what tests of whole runs share, the command among it. Those of what fabrics do, by the
// kind of fabric, are in package models; random fabrics are in package random.
//
// # Limitations
//
// It makes no run itself, so that the tests of package emu can use it.
package runtest
