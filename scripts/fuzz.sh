#!/usr/bin/env bash
#
# Runs every fuzz target of the tree.
#
# Usage: scripts/fuzz.sh [-json] [-least RATE] SECONDS [TOTAL]
#
#   SECONDS  for each target
#   TOTAL    seconds for all of them together: with many targets each gets less,
#            but never less than one second
#   -json    write events as "go test -json" does, for scripts/test.sh, and fuzz targets of three packages at a
#            time, each with one worker: some packages are compiled while others are fuzzed
#   -least   a target fails that has fewer executions a second
#
# A line for each target reports its executions. New inputs are kept as they are found: Go would take up to a minute
# for each to make it smaller, and no other input runs meanwhile (-test.fuzzminimizetime).
#
# What a target finds is written to testdata/fuzz next to it: commit it there, and
# it is a test from then on. All targets run, even after one has failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

json= at_once=1 worker=() least=0
if [ "${1:-}" = -json ]; then
	json=1 at_once=3 worker=(-test.parallel 1)
	shift
fi
if [ "${1:-}" = -least ]; then
	least=${2:-}
	shift $(($# < 2 ? $# : 2))
fi
if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ ! "$least $*" =~ ^[0-9]+(\ [1-9][0-9]*){1,2}$ ]]; then
	echo "usage: scripts/fuzz.sh [-json] [-least RATE] SECONDS [TOTAL]" >&2
	exit 2
fi
each=$1
total=${2:-}

# Read from the source: "go test -list" would link the tests of every package.
mapfile -t targets < <(grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sed -E 's|/[^/]*:func | |' | LC_ALL=C sort)
if [ ${#targets[@]} -eq 0 ]; then
	echo "fuzz: no targets" >&2
	exit 0
fi
if [ -n "$total" ] && [ $((each * ${#targets[@]})) -gt "$total" ]; then
	each=$((total / ${#targets[@]}))
	[ "$each" -ge 1 ] || each=1
fi

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
module=$(go list -m) cache=$(go env GOCACHE)/fuzz

# fuzz FOLDER NAME: fuzzes a target with the program of its package. Before Go 1.27 the end of the time may be
# taken for a failure of the input that runs at that moment (go.dev/issue/75804). Where that is all, and no
# input has been found, the inputs that there are have the last word.
fuzz() {
	local name=$module/${1#./} ok=1 said=$tmp/${1//\//-}.$2
	local run=("$tmp/${1//\//-}.test" -test.paniconexit0 "${worker[@]}" -test.fuzzcachedir "$cache/$name")
	if [ -n "$json" ]; then
		run=(go tool test2json -t -p "$name" "${run[@]}" -test.v=test2json)
	fi
	echo "+ -fuzz ^$2\$ -fuzztime ${each}s $1" >&2
	(cd "$1" && "${run[@]}" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "${each}s" -test.fuzzminimizetime 0) >"$said" 2>&1 || ok=0
	report "$1" "$2" "$said"
	if [ "$ok" = 0 ] && grep -q 'context deadline exceeded' "$said" && ! grep -q -e 'ailing input' -e 'panic:' -e '_test\.go:' "$said"; then
		echo "fuzz: $2 has found nothing until the time was up (go.dev/issue/75804); its inputs:" >&2
		ok=1
		(cd "$1" && "${run[@]}" -test.run "^$2\$") >"$said" || ok=0
	fi
	flock "$tmp" cat "$said" # the lines of each target together
	[ "$ok" = 1 ] || touch "$tmp/failed"
}

# report FOLDER NAME FILE: reports how often a target ran, from its last line in a file, and compares that with the
# least. A target that is still at the inputs that there were has no such line.
report() {
	local last seconds=$each runs=0
	last=$(grep -oE 'elapsed: [0-9hms]+, execs: [0-9]+' "$3" | tail -n 1) || true
	if [[ $last =~ ^elapsed:\ ((([0-9]+)h)?([0-9]+)m)?([0-9]+)s,\ execs:\ ([0-9]+)$ ]]; then
		seconds=$((${BASH_REMATCH[3]:-0} * 3600 + ${BASH_REMATCH[4]:-0} * 60 + BASH_REMATCH[5])) runs=${BASH_REMATCH[6]}
	fi
	echo "fuzz: $1 $2: $runs executions in $seconds s, $((runs / (seconds > 0 ? seconds : 1))) a second" >&2
	if [ "$runs" -lt $((least * seconds)) ]; then
		echo "fuzz: $1 $2: at least $least executions a second are wanted" >&2
		touch "$tmp/failed"
	fi
}

# package FOLDER: fuzzes the targets of a package, whose program is built once.
package() {
	if ! go test -c -fuzz . -ldflags '-s -w' -o "$tmp/${1//\//-}.test" "$1"; then
		touch "$tmp/failed"
		return
	fi
	local t
	for t in "${targets[@]}"; do
		[ "${t% *}" != "$1" ] || fuzz "$1" "${t#* }"
	done
}

n=0
for folder in $(printf '%s\n' "${targets[@]% *}" | uniq); do
	n=$((n + 1))
	[ "$n" -le "$at_once" ] || wait -n
	package "$folder" &
done
wait
[ ! -e "$tmp/failed" ]
