#!/usr/bin/env bash
#
# The one gate: what must hold of the tree before anything is committed.
#
#   gofmt, go vet, staticcheck, the spelling of documents and sources (misspell), go mod tidy -diff,
#   and the tests about the tree (scripts/archtest: layers, bans, comments).
#
# At the end it shows how many lines of Go, without tests, each wing of the tree has, and had at the last tag. No
# number of lines is a failure: the table is for whoever reads the change.
#
# It runs all of it at once, prints what it ran, and fails if any of it failed. It needs
# only Go; staticcheck and misspell are fetched in the versions below and never enter go.mod.
# What cannot be run (offline, for example) is named at the end.
#
# Usage: scripts/check.sh [--all]
#   --all  for scripts/test.sh --all: a check that cannot be run is a failure. The tests about the tree run there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
misspell=github.com/golangci/misspell/cmd/misspell@v0.8.0
accepted=ect,strat,betwen,modle,sensitivty # ECN-capable transport, an option of htsim, and mistakes that tests make on purpose

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

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
	if go mod tidy -diff >"$tmp/diff" 2>"$tmp/complaint"; then
		return
	fi
	cat "$tmp/diff" "$tmp/complaint"
	[ -s "$tmp/diff" ] || return "$cannot"
	return 1
}

# tool FLAG MODULE ARGUMENT...: runs a tool. It first asks for the version with FLAG, to distinguish a tool
# that cannot be fetched from one that found something.
tool() {
	local flag=$1 module=$2
	if ! go run "$module" "$flag" >/dev/null 2>"$tmp/${module//\//-}"; then
		tail -n 5 "$tmp/${module//\//-}"
		return "$cannot"
	fi
	shift
	go run "$@"
}

cannot=77 # the exit status of a check that cannot be run: offline, for example
checks=()

# start COMMAND...: starts a check, next to the others.
start() {
	local n=${#checks[@]}
	checks+=("$*")
	{
		local code=0
		"$@" >"$tmp/said.$n" 2>&1 || code=$?
		echo "$code" >"$tmp/code.$n"
	} &
}

# count DIR: reads the names of files and writes "WING LINES" for the tree in a folder. The wings are those of
# scripts/archtest/layers_test.go; a file is in the innermost one.
count() {
	grep -v '_test\.go$' | (cd "$1" && xargs -r -d '\n' wc -l 2>/dev/null) | awk -v wings="$wings" '
		BEGIN { n = split(wings, order, "\n") }
		$2 ~ /\.go$/ {
			best = "other"
			for (i = 1; i <= n; i++)
				if (index($2, order[i] "/") == 1 && (best == "other" || length(order[i]) > length(best))) best = order[i]
			lines[best] += $1
		}
		END { for (w in lines) print w, lines[w] }' | LC_ALL=C sort
}

# sizes: the table of wings.
sizes() {
	local wings tag=
	wings=$(sed -n '/^const wings = `$/,/^`$/p' scripts/archtest/layers_test.go | sed '1d;$d' | cut -d' ' -f1)
	git ls-files --cached --others --exclude-standard '*.go' | count . >"$tmp/now"
	: >"$tmp/then"
	if tag=$(git describe --tags --abbrev=0 2>/dev/null); then
		mkdir "$tmp/tree"
		git archive "$tag" | tar -x -C "$tmp/tree"
		git ls-tree -r --name-only "$tag" | grep '\.go$' | count "$tmp/tree" >"$tmp/then"
	fi
	LC_ALL=C join -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$tmp/now" "$tmp/then" | awk -v tag="$tag" '
		function row(wing, now, old) { printf tag == "" ? "%-16s %8s\n" : "%-16s %8s %8s\n", wing, now, old }
		BEGIN { row("wing", "lines", tag) }
		{ row($1, $2, $3); now += $2; old += $3 }
		END { row("all", now, old) }'
}

start tool -version "$staticcheck" -tags timing,soak ./... # the longest
start go vet -tags timing,soak ./...
start formatted
start tidy
start tool -v "$misspell" -error -i "$accepted" .
[ "${1:-}" = --all ] || start go test -count=1 ./scripts/archtest
wait

failed=() skipped=()
for n in "${!checks[@]}"; do
	echo "+ ${checks[n]}"
	cat "$tmp/said.$n"
	case $(cat "$tmp/code.$n") in
	0) ;;
	"$cannot") skipped+=("${checks[n]} (it cannot be run: offline?)") ;;
	*) failed+=("${checks[n]}") ;;
	esac
done

sizes
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
