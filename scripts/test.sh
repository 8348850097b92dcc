#!/usr/bin/env bash
#
# All tests, from a fresh machine with Go on it to one line of figures:
#
#   1. a C compiler for the race detector: installed with apt-get when there is
#      none, and this is root on a machine with apt-get; otherwise the tests run
#      without the race detector, and this script says so; iproute2 likewise, for
#      the tests in network namespaces, tshark and tcpdump, for those of captures, ping, for those of guests, and
#      strace, for those of files, groff, for the manual page, python3 and mypy, for the package for Python, chromium, for the live page,
#      slurm-wlm with munge, parallel and snakemake, for what shares runs between computers
#   2. scripts/check.sh
#   3. go test -race -shuffle=on, of the packages that start goroutines
#   4. without the race detector, those that start none, they and what they import: it can
#      find nothing in them; cmd/fabemu, whose tests run a program that is built without it,
#      and some that read results; and of all packages the tests of papers' figures (TestFigures...) and of what a fabric
#      does (TestModel...), and examples: long runs, most of them of one goroutine, and whose
#      code shorter ones have raced in the third pass
#   5. tests of wall timing and of allocations (TestWall..., TestAllocs...), which
#      the race detector would spoil: by themselves, one package at a time, with the
#      programs of the fourth pass. Their files, and those of TestFigures..., have "//go:build !race"
#   6. every fuzz target, for a second
#
# gotestsum shows a line for each package, the output of each failure, and why a test was skipped. Where
# it cannot be fetched, the names of failed and skipped tests are all that is shown.
# At most three tests that have failed run once more, alone, and a line names each that passes then.
# The last line is "N passed, N failed, N skipped", of 3 to 6 together; the exit
# code is 0 when all is well. With FABEMU_TEST_ALL=1 what is skipped is a failure:
# a test, a check, the race detector.
#
# First it says how busy the machine is, and how long all takes on a quiet one; on a busy one fewer
# packages are tested at a time, so that tests that wait for something do not wait for one another.
#
# Usage: scripts/test.sh [--load]
#   --load  say how busy the machine is, and test nothing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

gotestsum=gotest.tools/gotestsum@v1.13.0
fuzz_each=10  # seconds for a fuzz target
fuzz_total=30 # seconds for all of them; scripts/soak.sh takes minutes for each
at_once=3     # packages whose tests run beside one another: many wait for processes, guests and a browser
in_package=4  # tests of a package at a time: those that run the command wait more than they think
quiet=13      # minutes that all of this may take at the most on a quiet machine of two processors, in CI
second=3      # tests that may fail beside others and pass alone
slow=30s      # what takes longer is named: a test of that length is for scripts/soak.sh
figures='Test(Figures|Model)|Example'
alone='Test(Wall|Allocs)'

case ${1:-} in
'' | --load) ;;
*)
	echo "test: no argument $1: scripts/test.sh [--load]" >&2
	exit 2
	;;
esac

all=${FABEMU_TEST_ALL:-}
# A profile would have all packages compiled twice; what is released has one for its own
# packages only (scripts/release.sh), and the others are built as here: its test compiles few.
export GOFLAGS="${GOFLAGS:-} -pgo=off -trimpath" CGO_ENABLED=0
tmp=$(mktemp -d)
bin=$(mktemp -d) # of the command; tests let other users in
trap 'kill "$beat" 2>/dev/null || true; rm -rf "$tmp" "$bin"' EXIT

# A sign of life while nothing else is written.
while sleep 20 >/dev/null 2>&1; do echo "...     $SECONDS s since the begin"; done &
beat=$!

status=0

# What the machine does already. FABEMU_TEST_LOAD is for the test of this.
load=${FABEMU_TEST_LOAD:-$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo 0)}
cores=$(nproc 2>/dev/null || echo 1)
echo "test: the load is $load on $cores processors; on two quiet ones all of this takes $quiet minutes at the most"
if awk -v l="$load" -v c="$cores" 'BEGIN { exit !(l > 2 * c) }'; then
	at_once=1 in_package=2
	echo "test: the load is high: one package at a time; reckon with $(awk -v l="$load" -v c="$cores" -v q="$quiet" \
		'BEGIN { printf "%.0f", q * (l + c) / c }') minutes"
fi
[ "${1:-}" != --load ] || exit 0

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

if ! command -v groff >/dev/null; then
	install groff || echo "test: the manual page will not be looked at by groff"
fi

if ! command -v strace >/dev/null; then
	install strace || echo "test: what needs strace will be skipped"
fi

if ! { command -v python3 && command -v mypy; } >/dev/null; then
	install python3 mypy || echo "test: the package for Python will be skipped, or its types"
fi

if ! { command -v sbatch && command -v slurmctld && command -v slurmd && command -v munged && command -v parallel && command -v snakemake; } >/dev/null; then
	install slurm-wlm munge parallel snakemake || echo "test: what needs Slurm, GNU parallel or Snakemake will be skipped"
fi

scripts/check.sh --without-tests || status=1
checked=$status

# summary: reads events from standard input, shows them, and writes "passed failed skipped" to $tmp/counts.
if GOBIN=$tmp go install "$gotestsum" 2>"$tmp/complaint"; then
	summary() {
		cat >"$tmp/count" <<-'END'
			#!/bin/sh
			[ "$TESTS_FAILED" -gt 0 ] || TESTS_FAILED=$TESTS_ERRORS # a package that does not compile
			echo $((TESTS_TOTAL - TESTS_FAILED - TESTS_SKIPPED)) "$TESTS_FAILED" "$TESTS_SKIPPED" >"$counts"
		END
		chmod +x "$tmp/count"
		counts=$tmp/counts "$tmp/gotestsum" --format pkgname --no-color --post-run-command "$tmp/count" \
			--jsonfile "$tmp/events" --ignore-non-json-output-lines --raw-command -- cat
	}
else
	tail -n 3 "$tmp/complaint"
	echo "test: $gotestsum cannot be fetched: only names are shown"
	summary() {
		awk -v counts="$tmp/counts" '
			function value(key) { return match($0, "\"" key "\":\"[^\"]*") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) : "" }
			{ action = value("Action"); package = value("Package"); test = value("Test") }
			action !~ /^(pass|fail|skip)$/ { next }
			test != "" { n[action]++; failed[package] += action == "fail" }
			test == "" && action == "fail" && !failed[package] { n["fail"]++ }
			test == "" || action != "pass" { print action, package, test }
			END { print n["pass"] + 0, n["fail"] + 0, n["skip"] + 0 >counts }'
	}
fi

# of WORDS: adds to the name of each package in a stream of events what pass they are of: in another pass the
# package comes again.
of() { sed -u "s/\"Package\":\"[^\"]*/& ($*)/"; }

# folders PATTERN [OPTIONS OF GREP]: the packages in whose files something matches.
folders() { grep -rlE "$@" . | xargs -r dirname | LC_ALL=C sort -u | sed "s|^\\.|$(go list -m)|"; }

# having PATTERN: the packages with tests of such names.
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

# others: the packages with tests that are of neither kind.
others() {
	grep -rE '^func (Test|Example|Fuzz)' --include='*_test.go' . | grep -vE ":func ($figures|$alone|TestMain\()" |
		cut -d: -f1 | xargs dirname | LC_ALL=C sort -u | sed "s|^\\.|$(go list -m)|"
}

# first: puts the packages that take longest before the others, so that none of them is last and alone.
first() {
	local long='cmd/fabemu emu emu/watch/live emu/study/papers scripts emu/run/process emu/emutest/runtest/models emu/study/limiters'
	long="$long emu/study emu/record emu/scenario emu/study/limiters/bench emu/watch/capture emu/host/netns wire/link"
	awk -v long="$long" '
		BEGIN { n = split(long, order, " "); for (i in order) place[order[i]] = i }
		{ short = $1; sub("^[^/]*/", "", short); at = short in place ? place[short] : n + 1; print at, NR, $1 }' |
		sort -k1n -k2n | cut -d' ' -f3
}

# say WORDS: says what runs from now on, beside the events.
say() { echo "+ $*  ($SECONDS s since the begin)" >&2; }

# Each pass runs, whatever came of those before it; what it runs goes to stderr,
# its events to the summary. scripts/check.sh has vetted the tests.
passes() {
	local failed=0 one many package dir
	# The command, which many tests run: FABEMU_TEST_PROGRAM is for emu/emutest/runtest.
	go build -ldflags '-s -w' -o "$bin/fabemu" ./cmd/fabemu || failed=1
	export FABEMU_TEST_PROGRAM=$bin/fabemu
	# archtest reads the tree, cmd/fabemu and scripts run a program. The others import what starts goroutines, and start
	# none but by runs on the virtual clock, which emu has raced.
	one=$(single; go list ./scripts ./scripts/archtest ./cmd/fabemu ./emu/run/measured ./emu/watch/capture/dissector ./emu/limitertest \
		./emu/run/assemble ./emu/metrics ./emu/watch/perfetto ./emu/result/report ./emu/result/compare ./emu/result/summary ./emu/study/propose)
	many=$(go list ./... | grep -xF "$(others)" | grep -vxF "$one" | first)
	# shellcheck disable=SC2086 # a list
	go list -f '{{.Dir}}' $one >"$tmp/one"
	export kept=$tmp/kept one_list=$tmp/one of_the_others="^($figures)"
	# The go command hands each program of tests to this one, in the folder of its package.
	cat >"$tmp/keep" <<-'END'
		#!/bin/sh
		# Keeps a program of tests for the pass of those that are alone, and runs it. cmd/fabemu and emu wait for
		# processes, which run as users run them. The others compute: with rare collections of garbage, for a tenth
		# to a fifth less of the processors, and no more tests at a time than there are processors.
		mkdir -p "$kept$PWD"
		ln "$1" "$kept$PWD/" 2>/dev/null || cp "$1" "$kept$PWD/"
		grep -qxF "$PWD" "$one_list" || set -- "$@" "-test.run=$of_the_others"
		case $PWD in
		*/cmd/fabemu | */emu) ;;
		*) export GOGC=400 && set -- "$@" -test.parallel=2 ;;
		esac
		exec "$@"
	END
	chmod +x "$tmp/keep"
	# shellcheck disable=SC2086,SC2046 # lists
	{
		say "go test ${race[*]:+${race[*]} }-shuffle=on -skip $figures|$alone, the packages that start goroutines"
		# A program with the race detector lingers at its end, a second if nothing is said. The race
		# detector needs cgo; what tests themselves build does not.
		CGO_ENABLED=${#race[@]} go test -json -vet=off -timeout 30m -p "$at_once" -parallel "$in_package" "${race[@]}" -shuffle=on \
			-exec "env CGO_ENABLED=0 GORACE=atexit_sleep_ms=100" -skip "^($figures|$alone)" $many |
			of raced || failed=1
		say "go test -shuffle=on -skip $alone, the others, and $figures of all"
		go test -json -vet=off -timeout 30m -p "$at_once" -parallel "$in_package" -shuffle=on -skip "^$alone" -exec "$tmp/keep" \
			$({ echo "$one"; having "$figures|$alone"; } | sort -u | first) | of others || failed=1
		say "$alone, a package at a time"
		while read -r package dir; do
			(cd "$dir" && go tool test2json -t -p "$package" "$kept$dir"/*.test \
				-test.v=test2json -test.paniconexit0 -test.timeout=30m "-test.run=^$alone" </dev/null) | of alone || failed=1
		done < <(go list -f '{{.ImportPath}} {{.Dir}}' $(having "$alone"))
	}
	say "scripts/fuzz.sh $fuzz_each $fuzz_total"
	scripts/fuzz.sh -json "$fuzz_each" "$fuzz_total" | of fuzz || failed=1
	return "$failed"
}

# The last line is that of the summary, so what else went wrong stands before it.
passes | summary || status=1
if [ -s "$tmp/events" ]; then
	"$tmp/gotestsum" tool slowest --threshold "$slow" --jsonfile "$tmp/events" |
		sed "s/^/test: longer than $slow: /" || true
fi
read -r passed failed skipped <"$tmp/counts" || failed=1

# again: runs the tests that failed once more, each alone, and succeeds if all pass. A computer that takes the processors
# away for a while fails tests of real time, and other tests beside them take processors, too.
again() {
	local package pass name tests
	# The roots of failed tests, with the package and the pass; a package that fails without one is no matter of time.
	tests=$(sed -nE '/"Action":"fail"/ s/.*"Package":"([^" ]*) \(([a-z]*)\)"(,"Test":"([^"/]*))?.*/\1 \2 \4/p' "$tmp/events" | LC_ALL=C sort -u |
		awk '$3 != "" { has[$1 $2]; print } $3 == "" { bare[$1 $2] } END { for (p in bare) if (!(p in has)) print "-" }')
	if [ -z "$tests" ] || [ "$(wc -l <<<"$tests")" -gt "$second" ] || grep -qE '^-$| fuzz ' <<<"$tests"; then
		return 1
	fi
	while read -r package pass name; do
		say "go test -run ^$name\$ $package, alone: it failed beside others"
		if [ "$pass" = raced ]; then
			CGO_ENABLED=${#race[@]} go test -vet=off -count=1 "${race[@]}" -exec "env CGO_ENABLED=0" -run "^$name\$" "$package"
		else
			go test -vet=off -count=1 -run "^$name\$" "$package"
		fi </dev/null | tee "$tmp/again" && ! grep -q 'no tests to run' "$tmp/again" || return 1
		echo "test: failed beside others, and passes alone: $package $name"
	done <<<"$tests"
}
if [ "${failed:-1}" -gt 0 ] && [ "$checked" = 0 ] && [ -s "$tmp/events" ] && FABEMU_TEST_PROGRAM=$bin/fabemu again; then
	status=0 passed=$((passed + failed)) failed=0
fi
if [ "$((passed + failed + skipped))" -eq 0 ]; then
	echo "test: nothing was tested"
	status=1
elif [ "$skipped" -gt 0 ] && [ "$all" = 1 ]; then
	echo "test: everything was to run (FABEMU_TEST_ALL=1): a skipped test is a failure"
	status=1
elif [ "$status" -ne 0 ]; then
	echo "test: something failed: see above"
fi
[ "$failed" -eq 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
