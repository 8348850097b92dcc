//go:build !soak

package random_test

import "testing"

// How many random fabrics a test has; scripts/soak.sh has more.
const (
	witnessedFabrics = 16 // under a witness
	otherFabrics     = 3  // in other ways, after the first two
	dividedFabrics   = 3  // among domains and loops
	overrunFabrics   = 12 // once in domains and once on the wall clock
	plannedFabrics   = 16 // whose switches plan departures
)

// seedsOf returns the first seed of the fabrics that must not overrun, and how many there are.
func seedsOf(*testing.T) (first, most uint64) { return 0, overrunFabrics }
