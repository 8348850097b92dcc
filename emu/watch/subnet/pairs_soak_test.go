//go:build linux && soak

package subnet_test

// everyPair makes ibtracert trace all pairs of a fat tree.
const everyPair = true
