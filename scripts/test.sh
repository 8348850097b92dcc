#!/usr/bin/env bash
#
# All tests, from a fresh machine with Go on it to one line of figures:
#
#   1. a C compiler for the race detector: installed with apt-get when there is
#      none, and this is root on a machine with apt-get; otherwise the tests run
#      without the race detector, and this script says so; iproute2 likewise, for
#      the tests in network namespaces, tshark and tcpdump, for those of captures, ping, for those of guests, and
#      strace, for those of files, python3, for examples in it, chromium, for the live page,
#      slurm-wlm with munge, parallel and snakemake, for what shares runs between computers
#   2. scripts/check.sh, and the product built for macOS, Windows and other processors
#   3. go test -race -shuffle=on, of the packages that start goroutines
#   4. the same without the race detector, of those that start none, they and what
#      they import: it can find nothing in them
#   5. tests of papers' figures (TestFigures...) and of what a fabric does (TestModel...),
#      without the race detector: long runs on the virtual clock, which has one
#      goroutine, and whose code the third pass has raced
#   6. tests of wall timing and of allocations (TestWall..., TestAllocs...), which
#      the race detector would spoil: by themselves, one package at a time. Their
#      files, and those of TestFigures..., have "//go:build !race"
#   7. every fuzz target, for some seconds
#
# The last line is "N passed, N failed, N skipped", of 3 to 7 together; the exit
# code is 0 when all is well. With FABEMU_TEST_ALL=1 what is skipped is a failure:
# a test, a check, the race detector.
#
# Usage: scripts/test.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fuzz_each=10  # seconds for a fuzz target
fuzz_total=60 # seconds for all of them; scripts/soak.sh takes minutes for each
figures='Test(Figures|Model)'
alone='Test(Wall|Allocs)'

all=${FABEMU_TEST_ALL:-}
export GOFLAGS="${GOFLAGS:-} -pgo=off" # a profile (scripts/pgo.sh) would have all packages compiled twice
tmp=$(mktemp -d)
trap 'kill "$beat" 2>/dev/null || true; rm -rf "$tmp"' EXIT

# What takes long says so, until the summary says which test runs.
while sleep 20 >/dev/null 2>&1; do echo "...     $SECONDS s since the begin"; done &
beat=$!

status=0

if ! command -v go >/dev/null; then
	echo "test: there is no go command: install Go 1.26 first (https://go.dev/dl)" >&2
	exit 1
fi

# raced: whether this machine builds programs with the race detector.
raced() {
	mkdir -p "$tmp/probe"
	printf 'module probe\n\ngo 1.26\n' >"$tmp/probe/go.mod"
	printf 'package main\n\nfunc main() {}\n' >"$tmp/probe/main.go"
	(cd "$tmp/probe" && CGO_ENABLED=1 go build -race -o probe . && ./probe) >"$tmp/race.log" 2>&1
}

# install PACKAGE...: installs what the tests need, where it may.
install() {
	if [ "$(id -u)" -ne 0 ]; then
		echo "test: not root: $* cannot be installed"
		return 1
	fi
	if ! command -v apt-get >/dev/null; then
		echo "test: no apt-get: $* cannot be installed"
		return 1
	fi
	echo "+ apt-get install $*"
	export DEBIAN_FRONTEND=noninteractive
	if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } >"$tmp/apt.log" 2>&1; then
		tail -n 5 "$tmp/apt.log"
		return 1
	fi
}

race=()
if raced || { install gcc libc6-dev && raced; }; then
	race=(-race)
	export CGO_ENABLED=1
else
	tail -n 3 "$tmp/race.log"
	echo "test: skipped: the race detector (it needs a C compiler: gcc and libc6-dev)"
	if [ "$all" = 1 ]; then
		echo "test: everything was to run (FABEMU_TEST_ALL=1)"
		status=1
	fi
fi

if ! { command -v ip && command -v tc; } >/dev/null; then
	install iproute2 || echo "test: what needs network namespaces will be skipped"
fi
if ! command -v vagrant >/dev/null; then
	install vagrant || echo "test: the Vagrantfile will not be looked at"
fi

if ! { command -v tshark && command -v tcpdump; } >/dev/null; then
	install tshark tcpdump || echo "test: what needs tshark or tcpdump will be skipped"
fi

if ! command -v promtool >/dev/null; then
	install prometheus || echo "test: what needs promtool will be skipped"
fi

if ! command -v ping >/dev/null; then
	install iputils-ping || echo "test: what needs ping will be skipped"
fi

if ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then
	install chromium fonts-dejavu-core || echo "test: the live page will not be looked at in a browser"
fi

if ! command -v strace >/dev/null; then
	install strace || echo "test: what needs strace will be skipped"
fi

if ! command -v python3 >/dev/null; then
	install python3 || echo "test: the examples in Python will be skipped"
fi

if ! { command -v sbatch && command -v slurmctld && command -v slurmd && command -v munged && command -v parallel && command -v snakemake; } >/dev/null; then
	install slurm-wlm munge parallel snakemake || echo "test: what needs Slurm, GNU parallel or Snakemake will be skipped"
fi

scripts/check.sh || status=1

summary=()
if [ "$all" = 1 ]; then
	summary=(-noskip)
fi
go build -o "$tmp/testsum" ./scripts/testsum

# The product for other systems and processors: go build, and go vet for other systems.
# Tests are for Linux, so vet is shown a tree without them.
cross() (
	local flags='-gcflags=all=-N -l' packages failed=0 target files before= # nobody runs what is built: it is built fast
	packages=$(go list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' ./... | grep -v /scripts/)
	{
		echo '{"Replace": {'
		find "$PWD" -name '*_test.go' -printf '"%p": "",\n' | sed '$s/,$//'
		echo '}}'
	} >"$tmp/without-tests.json"
	# shellcheck disable=SC2086 # a list
	for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do
		export CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/}
		[ "$target" != "$(go env GOHOSTOS)/$(go env GOHOSTARCH)" ] || continue
		# Where the files are the same, so are the types: both processors have words of 64 bits.
		files=$GOOS$(go list -f '{{.ImportPath}} {{.GoFiles}} {{.SFiles}}' $packages)
		[ "$files" != "$before" ] || continue
		before=$files
		echo "+ GOOS=$GOOS GOARCH=$GOARCH go build"
		go build "$flags" $packages || failed=1
		[ "$GOOS" != linux ] || continue
		echo "+ GOOS=$GOOS GOARCH=$GOARCH go vet"
		go vet "$flags" -overlay "$tmp/without-tests.json" $packages || failed=1
	done
	exit "$failed"
)
cross || status=1

# folders PATTERN [OPTIONS OF GREP]: the packages in whose files something matches.
folders() { grep -rlE "$@" . | xargs -r dirname | LC_ALL=C sort -u | sed "s|^\\.|$(go list -m)|"; }

# having PATTERN: the packages with tests of such names. Others are not even linked.
having() { folders "^func ($1)" --include='*_test.go'; }

# single: the packages whose tests, and what they import from this tree, have one goroutine at a
# time: the race detector can find nothing in them.
single() {
	local go='^\s*go (func|[A-Za-z_.]+)\(|\.Go\('
	go list -test -f '{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}' ./... |
		awk -v product="$(folders "$go" --include='*.go' --exclude='*_test.go')" \
			-v tests="$(folders "$go|\\.Parallel\\(" --include='*_test.go')" '
			BEGIN {
				split(product, list, "\n"); for (i in list) starts[list[i]]
				split(tests, list, "\n"); for (i in list) many[list[i]]
			}
			{ all[$1]; for (i = 1; i <= NF; i++) if ($i in starts) many[$1] }
			END { for (p in all) if (!(p in many)) print p }' | LC_ALL=C sort
}

# Each pass runs, whatever came of those before it; what it runs goes to stderr,
# its events to the summary. scripts/check.sh has vetted the tests.
passes() {
	local failed=0 one many
	one=$(single; go list ./scripts/archtest) # it reads the tree
	many=$(go list ./... | grep -vxF "$one")
	# shellcheck disable=SC2086,SC2046 # lists
	{
		echo "+ go test ${race[*]:+${race[*]} }-shuffle=on -skip $figures|$alone, the packages that start goroutines" >&2
		# Four tests of a package at a time: those that run the command wait more than they think.
		go test -json -vet=off -timeout 30m -parallel 4 "${race[@]}" -shuffle=on -skip "^($figures|$alone)" $many || failed=1
		echo "+ go test -shuffle=on -skip $figures|$alone, the others" >&2
		go test -json -vet=off -timeout 30m -shuffle=on -skip "^($figures|$alone)" $one || failed=1
		echo "+ go test -run $figures" >&2
		go test -json -vet=off -timeout 30m -run "^$figures" $(having "$figures") || failed=1
		echo "+ go test -p 1 -count=1 -run $alone" >&2
		go test -json -vet=off -timeout 30m -p 1 -count=1 -run "^$alone" $(having "$alone") || failed=1
	}
	scripts/fuzz.sh -json "$fuzz_each" "$fuzz_total" || failed=1
	return "$failed"
}

# The last line of the summary is the last of this script, so what else went
# wrong is told before it.
if [ "$status" -ne 0 ]; then
	echo "test: something failed before the tests: see above"
fi
{ kill "$beat" && wait "$beat"; } 2>/dev/null || true
passes | "$tmp/testsum" "${summary[@]}" || status=1
exit "$status"
