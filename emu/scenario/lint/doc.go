// Package lint warns of what is right in a scenario, but probably not intended: values without an
// effect, links that cannot be busy, congestion points that never act, flows that may wait forever,
// buffers that may wait for one another (FindDeadlock).
//
// [Check] is a resolve.Linter: resolve.Load calls it with a scenario that it found right, and
// adds the places of the problems. The rules only read: the model, its paths, and where its values
// come from. Each is a function of its own.
//
// # Limitations
//
// Warnings that arise while a value is computed are Load's: of a --set that shortens the run, of a
// headroom that is too small on purpose, of a distribution in per cents.
package lint
