// Package measure holds benchmarks that want more than go test: root, tools of the
// system, a quiet computer. scripts/bench.sh -g pacing and -g placement run them.
package measure
