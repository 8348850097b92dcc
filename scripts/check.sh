#!/usr/bin/env bash
#
# The one gate: what must hold of the tree before anything is committed.
#
#   gofmt, go vet, staticcheck, go mod tidy -diff, and the tests about the tree
#   (scripts/archtest: layers, bans, comments).
#
# It prints what it runs, runs all of it, and fails if any of it failed. It needs
# Go alone; staticcheck is fetched in the version below and never enters go.mod.
# What cannot be run (offline, say) is named at the end.
#
# Usage: scripts/check.sh [--all]
#   --all  for scripts/test.sh --all: a check that cannot be run is a failure. The tests about the tree run there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

failed=()
skipped=()

# run COMMAND...: says what it runs, runs it, remembers a failure.
run() {
	echo "+ $*"
	"$@" || failed+=("$*")
}

# formatted: gofmt lists the files that it would change, and exits with 0.
formatted() {
	local files
	files=$(gofmt -l .) || return 1
	if [ -n "$files" ]; then
		printf 'not as gofmt writes them:\n%s\n' "$files"
		return 1
	fi
}

# tidy: a diff is a failure; no diff and no success means that it cannot tell.
tidy() {
	echo "+ go mod tidy -diff"
	if go mod tidy -diff >"$tmp/diff" 2>"$tmp/complaint"; then
		return
	fi
	if [ -s "$tmp/diff" ]; then
		cat "$tmp/diff"
		failed+=("go mod tidy -diff")
	else
		cat "$tmp/complaint"
		skipped+=("go mod tidy -diff (it cannot tell: offline?)")
	fi
}

# lint: asks staticcheck for its version first, to tell "not to be had" from
# "found something".
lint() {
	if ! go run "$staticcheck" -version >/dev/null 2>"$tmp/complaint"; then
		tail -n 5 "$tmp/complaint"
		skipped+=("$staticcheck (it cannot be fetched: offline?)")
		return
	fi
	run go run "$staticcheck" ./...
}

echo "+ gofmt -l ."
formatted || failed+=("gofmt -l .")
run go vet ./...
lint
tidy
[ "${1:-}" = --all ] || run go test -count=1 ./scripts/archtest

for s in "${skipped[@]}"; do
	echo "check: skipped: $s"
done
for f in "${failed[@]}"; do
	echo "check: failed: $f"
done
if [ ${#failed[@]} -gt 0 ]; then
	exit 1
fi
if [ ${#skipped[@]} -gt 0 ] && [ "${1:-}" = --all ]; then
	echo "check: with --all a check that is skipped is a failure"
	exit 1
fi
echo "check: ok"
