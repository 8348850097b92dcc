#!/usr/bin/env bash
#
# Makes a profile by which the compiler makes fabemu faster on the virtual clock: of
# BenchmarkCommand (emu), a minute or two.
#
# Usage: scripts/pgo.sh [FILE]
#
#   FILE  where it goes (default cmd/fabemu/default.pgo, where go build finds it by itself)
#
# With it runs take 4 to 17 % less CPU time (five scenarios, five pairs each, in turns), and
# building takes three times as long, since each package is compiled anew. So it is no part of the
# tree: go build -pgo=FILE ./cmd/fabemu takes one, and scripts/test.sh heeds none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
file=$(realpath -m "${1:-cmd/fabemu/default.pgo}")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
go test -pgo=off -run '^$' -bench '^BenchmarkCommand$' -benchtime 5s -cpuprofile "$tmp/cpu.pgo" -o "$tmp/emu.test" ./emu
cp "$tmp/cpu.pgo" "$file"
echo "pgo: written to $file" >&2
