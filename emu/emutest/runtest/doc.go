// Package runtest has the helpers of tests of whole runs, the command among them. Tests of fabrics,
// by their kind, are in package models; random fabrics are in package random.
//
// # Limitations
//
// It makes no run itself, so that the tests of package emu can use it.
package runtest
