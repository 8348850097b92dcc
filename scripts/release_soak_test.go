//go:build soak

package scripts

const profiled = true
