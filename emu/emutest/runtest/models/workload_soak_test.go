//go:build soak

package models_test

import (
	"testing"

	"fabemu/wire/unit"
)

// The mean slowdown under sharing for distributions with a long tail, which want long runs of small packets.
func TestModelMeanSlowdownOfSharingLong(t *testing.T) {
	meanSlowdown(t, "hadoop", 100, 0.5, 20, 8*unit.Second)
	meanSlowdown(t, "web-search", 250, 0.5, 20, 10*unit.Second)
}
