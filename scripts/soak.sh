#!/usr/bin/env bash
#
# The long ones: all of the papers on the virtual clock, random fabrics under a witness,
# runs whose parts are killed and stopped, runs on real sockets at several dilations, the
# short runs of the scenarios that have one, then fuzzing for minutes. For the night before
# a release, not for every commit.
#
# Usage: scripts/soak.sh [-d DILATIONS] [-s SCENARIOS] [-r REPEATS] [-m MINUTES] [-t MINUTES] [-f FABRICS] [-S SEED] [-o DIR]
#
#   -d DILATIONS  wall clock runs at these dilations (default "1000 500 200 100 50 20";
#                 a run of 100 ms lasts 100 s at dilation 1000, 2 s at 20)
#   -s SCENARIOS  of these (default "hpl2002/fig2 hpl2002/fig3a hpl2002/fig3b
#                 hpl2002/fig3c hpl2002/fig3d")
#   -r REPEATS    each this many times, with seeds 1, 2, ... (default 1)
#   -m MINUTES    for each fuzz target (default 5; 0: no fuzzing)
#   -t MINUTES    random fabrics with random faults for so long (default 20; 0: none). One
#                 that is at fault is made small and written to
#                 emu/emutest/runtest/random/testdata/fabrics: commit it with the repair
#   -f FABRICS    so many of them instead (two or three a second)
#                 5,000 more must not overrun, in domains and on the wall clock; others are
#                 chosen by FABEMU_FIRST and FABEMU_RUNS (TestRandomFabricsDoNotOverrun)
#   -S SEED       of the first of them (default: from the clock; it is printed)
#   -o DIR        where results and logs go (default results/soak/<date and time>)
#   -h            this text
#
# Every run happens, whatever came of those before. A run fails here as it does
# by hand, with its exit code: a check that did not hold (1), a mistake in the
# call (2), a run that failed or is void (3). A slow verdict is no failure: at a
# low dilation it is a figure about the machine, and it is printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
	sed -n '/^# Usage:/,/^#   -h /p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'
}

dilations="1000 500 200 100 50 20"
scenarios="hpl2002/fig2 hpl2002/fig3a hpl2002/fig3b hpl2002/fig3c hpl2002/fig3d"
repeats=1
minutes=5
least=50 # executions of a fuzz target a second: the slowest, FuzzResults, has 200 on two processors with a load of 18
span=20
fabrics=0
first=$(date +%s)000
out=
while getopts 'd:s:r:m:t:f:S:o:h' option; do
	case $option in
	d) dilations=$OPTARG ;;
	s) scenarios=$OPTARG ;;
	r) repeats=$OPTARG ;;
	m) minutes=$OPTARG ;;
	t) span=$OPTARG ;;
	f) fabrics=$OPTARG ;;
	S) first=$OPTARG ;;
	o) out=$OPTARG ;;
	h)
		usage
		exit 0
		;;
	*)
		usage >&2
		exit 2
		;;
	esac
done
shift $((OPTIND - 1))
if [ $# -gt 0 ] || [[ ! "$repeats $minutes $span $fabrics $first" =~ ^[1-9][0-9]*(\ [0-9]+){4}$ ]]; then
	usage >&2
	exit 2
fi

out=${out:-results/soak/$(date +%Y%m%d-%H%M%S)}
mkdir -p "$out"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

read -r -a D <<<"$dilations"
read -r -a S <<<"$scenarios"
total=$((${#D[@]} * ${#S[@]} * repeats))
failed=()

# verdict DIR: the level in a run's result.json.
verdict() {
	{ grep -o '"level": *"[a-z-]*"' "$1/result.json" 2>/dev/null || echo '"none"'; } | head -n 1 | cut -d '"' -f 4
}

echo "+ go build -o fabemu ./cmd/fabemu"
go build -o "$tmp/fabemu" ./cmd/fabemu

# All tests, each in its longest form: one package at a time, because some judge timing.
echo "+ FABEMU_MINUTES=$span FABEMU_FABRICS=$fabrics FABEMU_SEED=$first go test -tags soak,timing -p 1 ./..."
FABEMU_MINUTES=$span FABEMU_FABRICS=$fabrics FABEMU_SEED=$first go test -tags soak,timing -p 1 -timeout 12h -v ./... >"$out/tests.txt" 2>&1 ||
	failed+=("go test -tags soak,timing: see $out/tests.txt")

echo "+ scripts/lab/tcp-kernel.sh -l 20s"
scripts/lab/tcp-kernel.sh -l 20s >"$out/tcp-kernel.txt" 2>&1 || failed+=("TCP compared with the kernel's: see $out/tcp-kernel.txt")

echo "+ scripts/first-minutes.sh $out/release"
{ scripts/release.sh -q -t "linux/$(go env GOARCH)" "$out/release" && scripts/first-minutes.sh "$out/release"; } >"$out/first-minutes.txt" 2>&1 ||
	failed+=("the first minutes of a new user: see $out/first-minutes.txt")

# The product for other systems. scripts/test.sh checks its types. Tests are for Linux: vet is shown a tree without them.
{
	echo '{"Replace": {'
	find "$PWD" -name '*_test.go' -printf '"%p": "",\n' | sed '$s/,$//'
	echo '}}'
} >"$tmp/without-tests.json"
packages=$(go list -f '{{if .GoFiles}}{{.ImportPath}}{{end}}' ./... | grep -v /scripts/)
for target in linux/arm64 darwin/arm64 windows/amd64; do
	echo "+ GOOS=${target%/*} GOARCH=${target#*/} go build, go vet"
	# shellcheck disable=SC2086 # a list
	{
		GOOS=${target%/*} GOARCH=${target#*/} go build $packages &&
			GOOS=${target%/*} GOARCH=${target#*/} go vet -overlay "$tmp/without-tests.json" $packages
	} >"$out/${target/\//-}.txt" 2>&1 || failed+=("the product for $target: see $out/${target/\//-}.txt")
done

n=0
for scenario in "${S[@]}"; do
	for dilation in "${D[@]}"; do
		for ((seed = 1; seed <= repeats; seed++)); do
			n=$((n + 1))
			dir=$out/${scenario//\//-}-d$dilation-s$seed
			mkdir -p "$dir"
			printf '%s  %d of %d: %s, dilation %d, seed %d: ' "$(date +%T)" "$n" "$total" "$scenario" "$dilation" "$seed"
			code=0
			"$tmp/fabemu" run "$scenario" --clock wall --dilation "$dilation" --seed "$seed" --out "$dir/out" \
				>"$dir/stdout.txt" 2>"$dir/stderr.txt" || code=$?
			level=$(verdict "$dir/out")
			echo "exit $code, verdict ${level:-none}"
			if [ "$code" -ne 0 ]; then
				failed+=("$scenario, dilation $dilation, seed $seed: exit $code, see $dir")
				tail -n 3 "$dir/stderr.txt" | sed 's/^/          /'
			fi
		done
	done
done

for scenario in $("$tmp/fabemu" list --format csv | grep -e --short | cut -d , -f 1); do
	total=$((total + 1))
	dir=$out/${scenario//\//-}-short
	mkdir -p "$dir"
	printf '%s  %s, its short run: ' "$(date +%T)" "$scenario"
	code=0
	"$tmp/fabemu" run "$scenario" --short --out "$dir/out" >"$dir/stdout.txt" 2>"$dir/stderr.txt" || code=$?
	level=$(verdict "$dir/out")
	echo "exit $code, verdict ${level:-none}"
	if [ "$code" -ne 0 ]; then
		failed+=("$scenario, its short run: exit $code, see $dir")
	fi
done

if [ "$minutes" -gt 0 ]; then
	echo "+ scripts/fuzz.sh -least $least $((minutes * 60))"
	scripts/fuzz.sh -least "$least" $((minutes * 60)) 2>&1 | tee "$out/fuzz.txt" || failed+=("fuzzing: see $out/fuzz.txt")
fi

for f in "${failed[@]}"; do
	echo "soak: failed: $f"
done
echo "soak: $total runs, ${#failed[@]} failures, results in $out"
[ ${#failed[@]} -eq 0 ]
