//go:build !soak

package scripts

// profiled makes the release of TestRelease as users get it: with the profile everything is
// compiled once more, and compressing the packages takes half a minute.
const profiled = false
