//go:build !soak

package main

// slurmSeeds is how many seeds each setting has in TestSlurm, a multiple of 8: 25 cells for a
// share, of which a task has done some when it is put back.
const slurmSeeds = 8

// alone: nothing else runs on the machine, so tests compare rates in wall time.
const alone = false
