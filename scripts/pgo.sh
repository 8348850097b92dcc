#!/usr/bin/env bash
#
# Makes the profile by which the compiler makes fabemu faster on the virtual clock: of
# BenchmarkCommand (emu), a minute or two on a machine that does nothing else.
#
# Usage: scripts/pgo.sh [FILE]
#
#   FILE  where it goes (default scripts/virtual.pgo, which is part of the tree)
#
# What is released is built with it (scripts/release.sh), and so is what scripts/lab/peers.sh
# measures. go run, go build and scripts/test.sh heed none: the first build would take three
# times as long, because all dependencies would be compiled again. docs/notes/validation.md has the
# gain of the profile; repeat it when the work for a hop has changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
file=$(realpath -m "${1:-scripts/virtual.pgo}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go test -pgo=off -run '^$' -bench '^BenchmarkCommand$' -benchtime 5s -cpuprofile "$tmp/cpu.pgo" -o "$tmp/emu.test" ./emu
go tool preprofile -i "$tmp/cpu.pgo" -o "$file" # names and weights: no paths of this machine
echo "pgo: written to $file" >&2
