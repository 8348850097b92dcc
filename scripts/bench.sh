#!/usr/bin/env bash
#
# Benchmarks, in the form that benchstat reads; of two revisions, compared.
#
# Usage: scripts/bench.sh [-g GROUP] [-n COUNT] [-t TIME] [-o DIR] [GROUP] [OLD [NEW]]
#
#   -g GROUP  which benchmarks: wire     codecs, CRCs, ports, machines one by one
#                               virtual  whole runs on the virtual clock
#                               scale    of these, what a frame-hop costs with 20, 200 and
#                                        2000 endpoints, and the factor between them, for
#                                        each kind of fabric that fabemu generates; at
#                                        the end the best of each size over all rounds
#                               loops    of these, how many times as fast two loops are as
#                                        one, on two processors that do nothing else
#                               engine   the wall driver: what a datagram costs, and
#                                        the ways in which its loop could wait
#                               fig4     no benchmark of the tree: all of Fig. 4 of
#                                        HPL-2002-224, 55 runs of 500 ms on the virtual
#                                        clock, COUNT times (default 1), in wall and CPU
#                                        seconds; the limit is 60 s on two cores
#                               peers    no benchmark of the tree: what a hop costs on the
#                                        virtual clock compared with a bare loop of events in Go,
#                                        and with htsim and ns-3 where their sources are
#                                        given (scripts/lab/peers.sh), COUNT pairs in turns
#                                        (default 3)
#                               wall     no benchmark of the tree: late frames, pace and
#                                        processor time of runs on the wall clock, COUNT rounds
#                                        (default 3) in turns with revision OLD; DOC=FILE writes
#                                        the table again (scripts/lab/wall.sh)
#                               processes  the same of runs in processes, and of actual timing
#                               repeats  how often a run on the wall clock is how good
#                                        (scripts/lab/wall.sh); for these three:
#                                        --load N  next to N busy shells
#                                        --cpus C  with the time of C processors, such as 0.5,
#                                                  as in a container with that limit (root)
#                               shards   no benchmark of the tree: reproduce hpl2002 by one
#                                        call and by two that share it, with a worker each,
#                                        COUNT times in turns (default 1), and the ratio of
#                                        their times; SUBJECT=hpl2002/fig4a takes less, and so
#                                        does SEEDS=1
#                               all      wire, virtual, scale, loops and engine (default)
#                               placement  what it costs to place 60 machines in one
#                                        process or in one each, over UDP or veth pairs
#                                        (root; a minute a round)
#                               hosts    what it costs to start 200 machines on two
#                                        hosts, which are network namespaces (root;
#                                        half a minute a round)
#                               pacing   frames paced by fabemu, htb, tbf and
#                                        time.Sleep side by side, which take turns
#                                        (root, iproute2)
#             The name alone does as well: scripts/bench.sh placement
#   -n COUNT  how many times each is run (default 10: benchstat wants that many)
#   -t TIME   how long each runs, as go test -benchtime takes it (default 1s)
#   -o DIR    where the results go (default results/bench/<date and time>)
#   OLD NEW   git revisions. One: it is compared with the files as they are now.
#             None: the files as they are now, without comparison
#   -h        this text
#
# Revisions are built from work trees in a temporary folder, removed at the end.
# Two revisions take turns, COUNT times, so that a machine that grows slower
# meanwhile does not favour one. A busy machine gives figures that mean nothing:
# the results contain the load at the start.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

usage() {
	sed -n '/^# Usage:/,/^#   -h /p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'
}

# The options of scripts/lab/wall.sh may be anywhere.
words=() apart=()
while [ $# -gt 0 ]; do
	case $1 in
	--load | --cpus)
		apart+=("$1" "${2:-}")
		shift $(($# < 2 ? 1 : 2))
		;;
	*)
		words+=("$1")
		shift
		;;
	esac
done
set -- "${words[@]}"

group=all
count=
time=1s
out=
while getopts 'g:n:t:o:h' option; do
	case $option in
	g) group=$OPTARG ;;
	n) count=$OPTARG ;;
	t) time=$OPTARG ;;
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
case ${1:-} in
wire | virtual | loops | engine | fig4 | peers | wall | processes | repeats | placement | hosts | pacing | shards | all)
	group=$1
	shift
	;;
esac

if [ ${#apart[@]} -gt 0 ] && [[ ! "$group" =~ ^(wall|processes|repeats)$ ]]; then
	echo "bench: ${apart[0]} is for wall, processes and repeats" >&2
	exit 2
fi
case $group in
fig4)
	if [ $# -gt 0 ]; then
		echo "bench: fig4 compares no revisions" >&2
		exit 2
	fi
	count=${count:-1}
	;;
shards)
	if [ $# -gt 0 ]; then
		echo "bench: shards compares no revisions" >&2
		exit 2
	fi
	count=${count:-1}
	;;
wall | processes | repeats)
	exec scripts/lab/wall.sh $group "${count:-3}" "$@" "${apart[@]}"
	;;
peers)
	if [ $# -gt 0 ]; then
		echo "bench: peers compares no revisions; FABEMU=BINARY takes another one" >&2
		exit 2
	fi
	count=${count:-3}
	;;
placement | hosts | pacing)
	if [ "$(id -u)" -ne 0 ]; then
		echo "bench: $group wants root: namespaces, veth pairs and qdiscs are made and removed" >&2
		exit 1
	fi
	pattern=^Benchmark${group^}
	packages=(-tags timing ./scripts/measure)
	if [ "$group" != pacing ]; then
		time=1x
	fi
	;;
wire)
	pattern=.
	packages=(./wire/... ./node/... ./switchd/...)
	;;
virtual)
	pattern=^BenchmarkVirtual
	packages=(./emu/...)
	;;
scale)
	pattern=^BenchmarkVirtualScale
	packages=(./emu)
	;;
loops)
	pattern=^BenchmarkLoops
	packages=(./emu)
	;;
engine)
	pattern=^BenchmarkEngine
	packages=(./emu)
	;;
all)
	pattern=.
	packages=(./wire/... ./node/... ./switchd/... ./emu/...)
	;;
*)
	echo "bench: no group $group: wire, virtual, scale, loops, engine, fig4, peers, wall, processes, repeats, placement, hosts, pacing, shards or all" >&2
	exit 2
	;;
esac
count=${count:-10}
if [[ ! "$count" =~ ^[1-9][0-9]*$ ]]; then
	echo "bench: -n takes a number, not $count" >&2
	exit 2
fi
if [ $# -gt 2 ]; then
	usage >&2
	exit 2
fi
for revision in "$@"; do
	if ! git rev-parse --quiet --verify "$revision^{commit}" >/dev/null; then
		echo "bench: no revision $revision" >&2
		exit 2
	fi
done

out=${out:-results/bench/$(date +%Y%m%d-%H%M%S)}
mkdir -p "$out"
tmp=$(mktemp -d)
cleanup() {
	rm -rf "$tmp"
	git worktree prune
}
trap cleanup EXIT

# machine writes what the figures depend on and go test does not say, as
# configuration lines of the benchmark format.
machine() {
	local governor=/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
	echo "cpus: $(nproc)"
	echo "kernel: $(uname -r)"
	echo "toolchain: $(go env GOVERSION)"
	if [ -r "$governor" ]; then
		echo "governor: $(<"$governor")"
	fi
	echo "load: $(cut -d ' ' -f 1 /proc/loadavg)"
}

if [ "$group" = peers ]; then
	scripts/lab/peers.sh "$count" | tee "$out/peers.txt"
	echo "bench: written to $out/peers.txt" >&2
	exit
fi

if [ "$group" = shards ]; then
	go build -o "$tmp/fabemu" ./cmd/fabemu
	subject=${SUBJECT:-hpl2002}
	# shards N: all cells by N calls at a time, in $tmp/shards; prints the seconds that it takes.
	shards() {
		local begin pids=() pid i
		rm -rf "$tmp/shards"
		begin=$(date +%s.%N)
		for ((i = 1; i <= $1; i++)); do
			"$tmp/fabemu" reproduce "$subject" ${SEEDS:+--seeds "$SEEDS"} --workers 1 --shard "$i/$1" --out "$tmp/shards" >"$tmp/shard-$i.txt" 2>&1 &
			pids+=($!)
		done
		for pid in "${pids[@]}"; do
			wait "$pid" || { cat "$tmp"/shard-*.txt >&2; return 1; }
		done
		awk -v begin="$begin" -v end="$(date +%s.%N)" 'BEGIN { printf "%.2f\n", end - begin }'
	}
	{
		machine
		for ((i = 1; i <= count; i++)); do
			one=$(shards 1)
			two=$(shards 2)
			cells=$(find "$tmp/shards/cells" -name '*.json' | wc -l)
			awk -v subject="$subject" -v cells="$cells" -v one="$one" -v two="$two" 'BEGIN {
				printf "shards: %s, %d cells: one shard %.1f s, two shards %.1f s: %.2f times the throughput\n",
					subject, cells, one, two, one / two
			}'
		done
	} | tee "$out/shards.txt"
	echo "bench: written to $out/shards.txt" >&2
	exit
fi

if [ "$group" = fig4 ]; then
	go build -o "$tmp/fabemu" ./cmd/fabemu
	# fig4 ROUND: one round, its results in $tmp, its line on standard output.
	fig4() {
		local TIMEFORMAT='%R %U %S' took wall user system runs
		# A claim that does not hold has status 1, which is no matter of speed.
		took=$({ time "$tmp/fabemu" reproduce hpl2002/fig4a --out "$tmp/fig4-$1" >"$tmp/fig4.txt" 2>&1 || [ $? -eq 1 ]; } 2>&1)
		if [ ! -f "$tmp/fig4-$1/report.html" ]; then
			cat "$tmp/fig4.txt" >&2
			return 1
		fi
		read -r wall user system <<<"$took"
		runs=$(grep -c '"duration_ps": 500000000000' "$tmp/fig4-$1/claims.json")
		awk -v runs="$runs" -v wall="$wall" -v cpu="$user" -v kernel="$system" 'BEGIN {
			printf "fig4: %d runs of 500 ms: %.1f s wall, %.1f s CPU; limit 60 s: %s\n", runs, wall, cpu + kernel, wall < 60 ? "within" : "over"
		}'
	}
	{
		machine
		for ((i = 1; i <= count; i++)); do
			fig4 "$i"
		done
	} | tee "$out/fig4.txt"
	echo "bench: written to $out/fig4.txt" >&2
	exit
fi

# checkout REVISION NAME: a work tree of the revision, as $tmp/NAME.
checkout() {
	echo "+ git worktree add $2 $1  ($(git log -1 --format='%h %s' "$1"))" >&2
	git worktree add --quiet --detach "$tmp/$2" "$1"
}

# bench FOLDER COUNT: runs the group there.
bench() {
	echo "+ go test -run '^\$' -bench $pattern -benchtime $time -count $2 -benchmem ${packages[*]}" >&2
	(cd "$1" && go test -run '^$' -bench "$pattern" -benchtime "$time" -count "$2" -benchmem "${packages[@]}")
}

# best: of the lines of BenchmarkVirtualScale, for each kind of fabric, the least cost of
# each size and the factor between these. A computer that others use as well disturbs
# single lines.
best() {
	awk '/^BenchmarkVirtualScale/ {
		kind = $1
		sub(/^[^\/]*\//, "", kind)
		sub(/-[0-9]+$/, "", kind)
		if (!(kind in lines)) order[++kinds] = kind
		lines[kind]++
		for (i = 3; i < NF; i += 2) if ($(i + 1) ~ /^ns\/hop@/) {
			size = substr($(i + 1), 8)
			if (!(size in seen)) { seen[size] = 1; sizes[++n] = size }
			if (!((kind, size) in cost) || $i < cost[kind, size]) cost[kind, size] = $i
		}
	}
	END {
		printf "%-12s", "best, ns/hop"
		for (s = 1; s <= n; s++) printf "%8s", sizes[s]
		printf "%8s%8s\n", "factor", "rounds"
		for (k = 1; k <= kinds; k++) {
			least = most = cost[order[k], sizes[1]]
			printf "%-12s", order[k]
			for (s = 1; s <= n; s++) {
				c = cost[order[k], sizes[s]]
				if (c < least) least = c
				if (c > most) most = c
				printf "%8.0f", c
			}
			printf "%8.2f%8d\n", most / least, lines[order[k]]
		}
	}' "$1"
}

if [ $# -eq 0 ]; then
	{
		machine
		for ((i = 1; i <= count; i++)); do # in turns
			bench . 1
		done
	} | tee "$out/new.txt"
	if [ "$group" = scale ]; then
		best "$out/new.txt"
	fi
	echo "bench: written to $out/new.txt" >&2
	exit 0
fi

checkout "$1" old
new=.
if [ $# -eq 2 ]; then
	checkout "$2" new
	new=$tmp/new
fi
machine | tee "$out/old.txt" >"$out/new.txt"
for ((i = 1; i <= count; i++)); do
	echo "bench: round $i of $count" >&2
	bench "$tmp/old" 1 >>"$out/old.txt"
	bench "$new" 1 >>"$out/new.txt"
done

if go run "$benchstat" -h >"$tmp/benchstat" 2>&1 || grep -q -i '^usage' "$tmp/benchstat"; then
	(cd "$out" && go run "$benchstat" old.txt new.txt) | tee "$out/benchstat.txt"
else
	echo "bench: $benchstat cannot be fetched (offline?): compare the two files yourself" >&2
fi
printf 'bench: written to %s\n' "$out/old.txt" "$out/new.txt" >&2
