//go:build soak

package study_test

import "math"

// costliest is the cost up to which a scenario is run: all are.
const costliest = math.MaxFloat64
