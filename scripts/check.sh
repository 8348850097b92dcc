#!/usr/bin/env bash
#
# The one gate: what must hold of the tree before anything is committed.
#
#   gofmt, go vet, staticcheck, the spelling of documents and sources (misspell), go mod tidy -diff,
#   and the tests about the tree (scripts/archtest: layers, bans, comments).
#
# It prints what it runs, runs all of it, and fails if any of it failed. It needs
# only Go; staticcheck and misspell are fetched in the versions below and never enter go.mod.
# What cannot be run (offline, for example) is named at the end.
#
# Usage: scripts/check.sh [--all]
#   --all  for scripts/test.sh --all: a check that cannot be run is a failure. The tests about the tree run there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
misspell=github.com/golangci/misspell/cmd/misspell@v0.8.0
accepted=ect,betwen,modle,sensitivty # ECN-capable transport, and mistakes that tests make on purpose

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

# tool FLAG MODULE ARGUMENT...: runs a tool. It first asks for the version with FLAG, to distinguish a tool
# that cannot be fetched from one that found something.
tool() {
	local flag=$1 module=$2
	if ! go run "$module" "$flag" >/dev/null 2>"$tmp/complaint"; then
		tail -n 5 "$tmp/complaint"
		skipped+=("$module (it cannot be fetched: offline?)")
		return
	fi
	shift
	run go run "$@"
}

echo "+ gofmt -l ."
formatted || failed+=("gofmt -l .")
run go vet ./...
tool -version "$staticcheck" ./...
tool -v "$misspell" -error -i "$accepted" .
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
