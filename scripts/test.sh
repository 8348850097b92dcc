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
#   1. scripts/check.sh
#   2. go test -race -short of the packages that import sync, or whose tests do, but for commands
#   3. go test of the other packages, and of the tests that were skipped in pass 2: long ones (testing.Short), and those
#      that lack something
#   4. go test -tags timing: tests that judge the time on a clock, or allocations, which the race detector and other
#      tests would spoil. One package at a time, and only tests that are not there without the tag
#   5. every fuzz target, for a second
#
# Up to three failed tests run once more, each alone; a line names each that passes then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

gotestsum=gotest.tools/gotestsum@v1.13.0
fuzz_each=10  # seconds for a fuzz target
fuzz_total=30 # seconds for all of them; scripts/soak.sh takes minutes for each
at_once=3     # packages that are tested at a time: many wait for processes, guests and a browser
in_package=4  # tests of a package at a time: those that run the command wait more than they compute
second=3      # failed tests that may run once more
slow=30s      # longer tests are named: a test of that length is for scripts/soak.sh

# Optional tools: the program, its Debian packages, and what needs it. A test without its tool is skipped.
tools='
cc         gcc,libc6-dev                the race detector and the example in C
ip         iproute2                     network namespaces
tc         iproute2                     network namespaces
ping       iputils-ping                 real hosts
iperf3     iperf3                       real hosts
tshark     tshark                       captures
tcpdump    tcpdump                      captures
chromium   chromium,fonts-dejavu-core   the live page
curl       curl                         the control of a run
promtool   prometheus                   the metrics of a run
strace     strace                       files
mkfs.ext4  e2fsprogs                    files
groff      groff                        the manual pages
valgrind   valgrind                     the counts of instructions
python3    python3                      the package for Python and the site
mypy       mypy                         the package for Python
vagrant    vagrant                      the Vagrantfile
sbatch     slurm-wlm                    runs on several hosts
munged     munge                        runs on several hosts
qemu-system-x86_64 qemu-system-x86      RDMA programs
apt-get    apt                          RDMA programs
opensm     opensm,ibsim-utils           subnet managers
perfquery  infiniband-diags             subnet managers'

all='' packages=(./...) quiet=6 # minutes on two idle processors
case ${1:-} in
--all) all=1 quiet=25 ;;
--load) ;;
-*)
	echo "test: no argument $1: scripts/test.sh [--all | --load | PACKAGE...]" >&2
	exit 2
	;;
?*) packages=("$@") ;;
esac

# A profile would have all packages compiled twice; what is released has one for its own
# packages only (scripts/release.sh), and the others are built as here: its test compiles few.
export GOFLAGS="${GOFLAGS:-} -pgo=off -trimpath" CGO_ENABLED=0
export PATH="$PATH:/usr/sbin:/sbin" # an ordinary user's may lack them
tmp=$(mktemp -d)
bin=$(mktemp -d) # of the command; tests let other users in
beat=
trap 'kill $beat 2>/dev/null || true; rm -rf "$tmp" "$bin"' EXIT

# FABEMU_TEST_LOAD is for the test of this. FABEMU_TEST_EVENTS names a file that keeps what go test -json wrote.
load=${FABEMU_TEST_LOAD:-$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo 0)}
cores=$(nproc 2>/dev/null || echo 1)
echo "test: the load is $load on $cores processors; on two idle ones the tests take no more than $quiet minutes"
if awk -v l="$load" -v c="$cores" 'BEGIN { exit !(l > 2 * c) }'; then
	at_once=1 in_package=2
	echo "test: the load is high: one package at a time, for about $(awk -v l="$load" -v c="$cores" -v q="$quiet" \
		'BEGIN { printf "%.0f", q * (l + c) / c }') minutes"
fi
[ "${1:-}" != --load ] || exit 0

if ! command -v go >/dev/null; then
	echo "test: there is no go command: install Go 1.26 first (https://go.dev/dl)" >&2
	exit 1
fi

# A sign of life while nothing else is written.
while sleep 20 >/dev/null 2>&1; do echo "...     $SECONDS s"; done &
beat=$!

status=0

# raced: whether this machine builds programs with the race detector.
raced() {
	mkdir -p "$tmp/probe"
	printf 'module probe\n\ngo 1.26\n' >"$tmp/probe/go.mod"
	printf 'package main\n\nfunc main() {}\n' >"$tmp/probe/main.go"
	(cd "$tmp/probe" && CGO_ENABLED=1 go build -race -o probe . && ./probe) >"$tmp/race.log" 2>&1
}

# install PACKAGE...: installs Debian packages.
install() {
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		echo "test: not installed, because that needs root and apt-get: $*"
		return
	fi
	echo "+ apt-get install $*"
	export DEBIAN_FRONTEND=noninteractive
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } >"$tmp/apt.log" 2>&1 || tail -n 5 "$tmp/apt.log"
}

race=()
if [ -n "$all" ]; then
	missing=()
	while read -r tool names _; do
		[ -z "$tool" ] || command -v "$tool" >/dev/null || missing+=(${names//,/ })
	done <<<"$tools"
	[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"
	if raced; then
		race=(-race)
	else
		tail -n 3 "$tmp/race.log"
		echo "test: failed: there is no race detector"
		status=1
	fi
	scripts/check.sh --all || status=1
fi
checked=$status

# show: shows the events that it reads.
if GOBIN=$tmp go install "$gotestsum" 2>"$tmp/complaint"; then
	show() {
		"$tmp/gotestsum" --format pkgname --hide-summary=skipped --no-color --ignore-non-json-output-lines --raw-command -- cat
	}
else
	tail -n 3 "$tmp/complaint"
	echo "test: $gotestsum cannot be fetched: only the names of failed tests are shown"
	show() { sed -nE '/"Action":"fail"/ s/.*"Package":"([^"]*)"(,"Test":"([^"]*))?.*/fail \1 \3/p'; }
fi

# count: writes "passed failed skipped" of the events to the file $tmp/counts, and prints why tests were skipped.
count() {
	awk -v counts="$tmp/counts" -v tools="$tools" '
		function value(key) { return match($0, "\"" key "\":\"[^\"]*") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) : "" }
		function reason(said, i, word) {
			if (said ~ /CAP_|root|permission|mounted/) return "need root"
			for (i = 1; i <= rows; i++) {
				if (!split(table[i], row, " ")) continue
				word = row[1]; gsub(/\./, "[.]", word)
				if (said ~ ("(^|[^a-z0-9])" word "([^a-z0-9]|$)")) {
					gsub(",", " and ", row[2])
					return "need " row[1] " (Debian: " row[2] ")"
				}
			}
			return said
		}
		BEGIN { rows = split(tools, table, "\n") }
		{ action = value("Action"); test = value("Package") " " value("Test") }
		action == "output" && match($0, /\.go:[0-9]+: /) { said[test] = substr($0, RSTART + RLENGTH); sub(/(\\n)?"(,"OutputType":"[a-z]*")?}$/, "", said[test]); gsub(/\\"/, "\"", said[test]) }
		action == "fail" { failed[value("Package")]++ }
		action !~ /^(pass|fail|skip)$/ { next }
		action == "skip" && value("Package") ~ /[(]raced[)]$/ { next } # it runs in the next pass
		value("Test") != "" { n[action]++ }
		value("Test") == "" && action == "fail" && failed[value("Package")] == 1 { n["fail"]++ }
		value("Test") != "" && action == "skip" { why[reason(said[test])]++ }
		END {
			for (w in why) printf "  %5d tests  %s\n", why[w], w | "sort -k1nr"
			print n["pass"] + 0, n["fail"] + 0, n["skip"] + 0 >counts
		}' "$tmp/events"
}

# of WORDS: adds to the name of each package in a stream of events what pass they are of: in another pass the
# package comes again.
of() { sed -u "s/\"Package\":\"[^\"]*/& ($*)/"; }

# concurrent: the packages in which the race detector can find something: they import sync, or their tests do. A command
# is not among them, because its tests run a program that is built without the detector.
concurrent() {
	go list -f '{{range .Imports}}{{.}} {{end}}{{range .TestImports}}{{.}} {{end}}{{range .XTestImports}}{{.}} {{end}}: {{.ImportPath}} {{.Name}}' ./... |
		sed -nE 's/^(.* )?(sync|sync\/atomic|golang\.org\/x\/sync\/[a-z]+) .*: //p' | sed -n '/ main$/!s/ .*//p'
}

# skipped FILE: "PACKAGE TEST" for the tests that were skipped, or had a part that was, by a file of events.
skipped() { sed -nE '/"Action":"skip"/ s/.*"Package":"([^"]*)","Test":"([^"/]*).*/\1 \2/p' "$1" | LC_ALL=C sort -u; }

# pattern: reads names of tests and writes the expression that matches them and no others.
pattern() { LC_ALL=C sort -u | paste -sd'|' | sed 's/.*/^(&)$/'; }

# tagged: the packages that have more files of tests with the tag timing.
tagged() {
	local files='{{.ImportPath}} {{.TestGoFiles}} {{.XTestGoFiles}}'
	LC_ALL=C comm -13 <(go list -f "$files" ./... | LC_ALL=C sort) <(go list -tags timing -f "$files" ./... | LC_ALL=C sort) | cut -d' ' -f1
}

# timing: runs the tests that need the tag timing, of a package at a time.
timing() {
	local failed=0 package dir names with
	mapfile -t with < <(tagged)
	# "go test -list" writes the names of a package, and then "ok PACKAGE".
	go test -vet=off -list . "${with[@]}" | awk '$1 == "ok" { for (i = 1; i <= n; i++) print $2, name[i]; n = 0; next } { name[++n] = $1 }' \
		>"$tmp/untagged" || failed=1
	while read -r package dir; do
		if ! go test -c -vet=off -tags timing -o "$tmp/timing.test" "$package"; then
			failed=1
			continue
		fi
		names=$(cd "$dir" && "$tmp/timing.test" -test.list . </dev/null | sed "s|^|$package |" | grep -vxFf "$tmp/untagged" | cut -d' ' -f2 | pattern) || true
		[ -n "$names" ] || continue
		(cd "$dir" && go tool test2json -t -p "$package" "$tmp/timing.test" \
			-test.v=test2json -test.paniconexit0 -test.timeout=30m "-test.run=$names" </dev/null) || failed=1
	done < <(go list -f '{{.ImportPath}} {{.Dir}}' "${with[@]}")
	return "$failed"
}

# say WORDS: says what runs from now on, in addition to the events.
say() { echo "+ $*  ($SECONDS s)" >&2; }

# Each pass runs, whether or not those before it failed. What it runs goes to stderr, its events to stdout.
passes() {
	local failed=0 raced others rest=
	local test=(go test -json -vet=off -timeout 30m -p "$at_once" -parallel "$in_package" -shuffle=on)
	# The command, which many tests run: FABEMU_TEST_PROGRAM is for emu/emutest/runtest.
	go build -ldflags '-s -w' -o "$bin/fabemu" ./cmd/fabemu || failed=1
	export FABEMU_TEST_PROGRAM=$bin/fabemu
	if [ -z "$all" ]; then
		say "go test -short ${packages[*]}"
		"${test[@]}" -short "${packages[@]}" | of short || failed=1
		return "$failed"
	fi
	mapfile -t raced < <(concurrent)
	mapfile -t others < <(go list ./... | grep -vxFf <(printf '%s\n' "${raced[@]}"))
	say "go test ${race[*]:+${race[*]} }-short, the packages that import sync"
	# A program with the race detector lingers at its end, a second if nothing is said. The race
	# detector needs cgo; what tests themselves build does not.
	CGO_ENABLED=${#race[@]} "${test[@]}" "${race[@]}" -short -exec "env CGO_ENABLED=0 GORACE=atexit_sleep_ms=100" "${raced[@]}" |
		tee "$tmp/raced" | of raced || failed=1
	# The tests of the command wait most of the time, so what was skipped runs next to the other packages.
	say "go test, the other packages, and what was skipped with -short"
	skipped "$tmp/raced" >"$tmp/skipped"
	: >"$tmp/rest"
	if [ -s "$tmp/skipped" ]; then
		mapfile -t raced < <(cut -d' ' -f1 "$tmp/skipped" | uniq)
		"${test[@]}" -p 1 -run "$(cut -d' ' -f2 "$tmp/skipped" | pattern)" "${raced[@]}" >"$tmp/rest" &
		rest=$!
	fi
	"${test[@]}" "${others[@]}" | of others || failed=1
	[ -z "$rest" ] || wait "$rest" || failed=1
	of others <"$tmp/rest"
	say "go test -tags timing, a package at a time"
	timing | of timing || failed=1
	say "scripts/fuzz.sh $fuzz_each $fuzz_total"
	scripts/fuzz.sh -json "$fuzz_each" "$fuzz_total" | of fuzz || failed=1
	return "$failed"
}

passes | tee "$tmp/events" | show || status=1
if [ -x "$tmp/gotestsum" ] && [ -n "$all" ]; then
	"$tmp/gotestsum" tool slowest --threshold "$slow" --jsonfile "$tmp/events" |
		sed "s/^/test: longer than $slow: /" || true
fi
[ -z "${FABEMU_TEST_EVENTS:-}" ] || cp "$tmp/events" "$FABEMU_TEST_EVENTS"
skips=$(count)
read -r passed failed skipped <"$tmp/counts"

# again: runs the tests that failed once more, each alone, and succeeds if all pass. A computer that takes the processors
# away for a while fails tests of real time, and other tests at the same time take processors, too.
again() {
	local package pass name tests
	# The roots of failed tests, with the package and the pass; a package that fails without one is no matter of time.
	tests=$(sed -nE '/"Action":"fail"/ s/.*"Package":"([^" ]*) \(([a-z]*)\)"(,"Test":"([^"/]*))?.*/\1 \2 \4/p' "$tmp/events" | LC_ALL=C sort -u |
		awk '$3 != "" { has[$1 $2]; print } $3 == "" { bare[$1 $2] } END { for (p in bare) if (!(p in has)) print "-" }')
	if [ -z "$tests" ] || [ "$(wc -l <<<"$tests")" -gt "$second" ] || grep -qE '^-$| fuzz ' <<<"$tests"; then
		return 1
	fi
	while read -r package pass name; do
		say "go test -run ^$name\$ $package, alone: it failed next to others"
		case $pass in
		raced) CGO_ENABLED=${#race[@]} go test -vet=off -count=1 "${race[@]}" -short -exec "env CGO_ENABLED=0" -run "^$name\$" "$package" ;;
		timing) go test -vet=off -count=1 -tags timing -run "^$name\$" "$package" ;;
		*) go test -vet=off -count=1 -run "^$name\$" "$package" ;;
		esac </dev/null | tee "$tmp/again" && ! grep -q 'no tests to run' "$tmp/again" || return 1
		echo "test: failed next to others, and passes alone: $package $name"
	done <<<"$tests"
}
if [ "$failed" -gt 0 ] && [ "$checked" = 0 ] && FABEMU_TEST_PROGRAM=$bin/fabemu again; then
	status=0 passed=$((passed + failed)) failed=0
fi
if [ "$((passed + failed + skipped))" -eq 0 ]; then
	echo "test: nothing was tested"
	status=1
elif [ "$status" -ne 0 ]; then
	echo "test: something failed: see above"
fi
if [ "$skipped" -gt 0 ] && [ -n "$all" ]; then
	printf 'test: with --all a skipped test is a failure:\n%s\n' "$skips"
	status=1
elif [ -z "$all" ]; then
	root=
	[ "$(id -u)" -eq 0 ] || root='sudo env "PATH=$PATH" '
	echo "test: left out:"
	[ -z "$skips" ] || echo "$skips"
	echo "         also: tests of timing and allocations (-tags timing), the race detector, fuzzing, scripts/check.sh"
	echo "test: this command runs everything, and installs the missing packages on Debian or Ubuntu: ${root}scripts/test.sh --all"
fi
[ "$failed" -eq 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
