// Package unit holds the quantities that a fabric is described in: instants and
// spans of model time, rates and sizes, with the arithmetic that is exact where
// floats are not, and with the words that people write them in ("100us",
// "1GB/s", "150KB").
//
// Model time is the time that the fabric lives in. It is counted in
// picoseconds, because a byte on a 10 Gb/s link lasts 800 of them, and it has
// nothing to do with the wall clock: the drivers (package emu/run/drive) decide how
// the wall clock follows it. So package time does not appear here, nor in any
// package that speaks a protocol.
//
// The package also holds the seeded random generator (PCG), so that a run draws
// the same numbers on every node and in every release of Go.
//
// # Limitations
//
// A Time reaches 106 days. Rates are whole bits per second, sizes whole bytes.
package unit
