//go:build linux && soak

package main

import (
	"fmt"
	"testing"
)

// Each limit of open files from 20 to 400, and of memory from 300 MB to 3 GB.
func TestStartUnderAllLimits(t *testing.T) {
	var limits []string
	for files := 20; files <= 400; files++ {
		limits = append(limits, fmt.Sprint("-n ", files))
	}
	for kilobytes := 300_000; kilobytes <= 3_000_000; kilobytes += 50_000 {
		limits = append(limits, fmt.Sprint("-v ", kilobytes))
	}
	startUnder(t, limits)
}
