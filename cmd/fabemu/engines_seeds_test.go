//go:build !soak

package main

// slurmSeeds is how many seeds each setting has in TestSlurm, a multiple of 8: 50 cells for a share.
const slurmSeeds = 16
