// Package measure holds benchmarks and tests that need more than go test: root, tools of the
// system, or an idle machine. scripts/bench.py pacing and placement run the benchmarks,
// scripts/lab/tcp-kernel.sh the long form of TestWallTCPBesideTheKernel.
package measure
