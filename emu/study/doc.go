// Package study does many runs: Each is the pool of workers that sweeps and the figures
// of papers share. The packages in its folder are the kinds of studies.
//
// # Limitations
//
// Runs on the wall clock disturb one another: their pool has one worker.
package study
