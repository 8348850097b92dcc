//go:build !soak

package study_test

// costliest is the cost up to which a scenario is run: half a minute in all.
const costliest = 8e12
