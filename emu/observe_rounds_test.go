//go:build timing && !soak

package emu_test

// observerRounds is how many runs there are without an observer, and with one.
const observerRounds = 3
