#!/usr/bin/env bash
#
# Runs the tests. The last line is "N passed, N failed, N skipped"; the exit status is 0 if nothing failed.
#
# Usage: scripts/test.sh [--all | --load | PACKAGE...]
#
#   (nothing)  go test -short ./...: what this machine can run within six minutes of two idle processors. Installs
#              nothing. Lists at the end which tests were left out, and why.
#   PACKAGE    The same for some packages.
#   --all      Runs everything, as CI does. Installs missing Debian packages if it runs as root, and treats a skipped
#              test, a skipped check and a missing race detector as failures.
#   --load     Only reports how busy the machine is. On a busy machine fewer packages are tested at a time.
#
# The passes of --all:
#
#   1. go test of commands, next to 2 to 4: their tests run a program, and wait most of the time
#   2. scripts/check.sh
#   3. go test -race -short of the packages in which the race detector can find something: they start goroutines, or
#      have what several share
#   4. go test of the other packages, and of the tests that were skipped in pass 3: long ones (testing.Short), and those
#      that lack something
#   5. go test -tags timing: tests that judge the time on a clock, or allocations, which the race detector and other
#      tests would spoil. One package at a time, and only tests that are not there without the tag
#   6. every fuzz target, for a second; as root also the tests that depend on privileges once more as an ordinary user,
#      for whom a missing privilege is no failure
#
# Up to three failed tests run once more, each alone; a line names each that passes then.
#
# The program is scripts/test. Its tools.txt names the optional tools: a test without its tool is skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v go >/dev/null; then
	echo "test: there is no go command: install Go 1.26 first (https://go.dev/dl)" >&2
	exit 1
fi
# A profile would have all packages compiled twice; what is released has one for its own
# packages only (scripts/release.sh), and the others are built as here: its test compiles few.
export GOFLAGS="${GOFLAGS:-} -pgo=off -trimpath" CGO_ENABLED=0
export PATH="$PATH:/usr/sbin:/sbin" # an ordinary user's may lack them
go build -o build/test ./scripts/test
exec build/test "$@"
