#!/usr/bin/env bash
#
# Runs every fuzz target of the tree.
#
# Usage: scripts/fuzz.sh [-json] SECONDS [TOTAL]
#
#   SECONDS  for each target
#   TOTAL    seconds for all of them together: with many targets each gets less,
#            but never less than one second
#   -json    write events as "go test -json" does, for scripts/test.sh, and fuzz three targets at a time,
#            each with one worker: some are linked while others are fuzzed
#
# What a target finds is written to testdata/fuzz beside it: commit it there, and
# it is a test from then on. All targets run, even after one has failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

json=() at_once=1
if [ "${1:-}" = -json ]; then
	json=(-json -parallel 1) at_once=3
	shift
fi
if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ ! "$*" =~ ^[1-9][0-9]*(\ [1-9][0-9]*)?$ ]]; then
	echo "usage: scripts/fuzz.sh [-json] SECONDS [TOTAL]" >&2
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

# fuzz PACKAGE NAME: fuzzes a target. Before Go 1.27 the end of the time may be taken for a
# failure of what runs at that moment (go.dev/issue/75804). Where that is all, and no input
# has been found, the inputs that there are have the last word.
fuzz() {
	local all=(go test "${json[@]}" -run '^$' -fuzz "^$2\$" -fuzztime "${each}s" "$1") ok=1 said=$tmp/${1//\//-}.$2
	if [ ${#json[@]} -gt 0 ]; then
		"${all[@]}" >"$said" || ok=0
	else
		"${all[@]}" | tee "$said" || ok=0
	fi
	if [ "$ok" = 0 ] && grep -q 'context deadline exceeded' "$said" && ! grep -q -e 'ailing input' -e 'panic:' -e '_test\.go:' "$said"; then
		echo "fuzz: $2 has found nothing until the time was up (go.dev/issue/75804); its inputs:" >&2
		ok=1
		go test "${json[@]}" -count=1 -run "^$2\$" "$1" >"$said" || ok=0
		[ ${#json[@]} -gt 0 ] || cat "$said"
	fi
	[ ${#json[@]} -eq 0 ] || flock "$tmp" cat "$said" # each target's events together
	[ "$ok" = 1 ] || touch "$tmp/failed"
}

n=0
for t in "${targets[@]}"; do
	read -r package name <<<"$t"
	n=$((n + 1))
	[ "$n" -le "$at_once" ] || wait -n
	echo "+ go test -fuzz ^$name\$ -fuzztime ${each}s $package  ($n of ${#targets[@]})" >&2
	fuzz "$package" "$name" &
done
wait
[ ! -e "$tmp/failed" ]
