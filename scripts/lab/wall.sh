#!/usr/bin/env bash
#
# The timing of runs on the wall clock: gaps that are off, late data frames and the floor of the
# machine, the pace (requested / achieved dilation), and the processor time of a frame. This program and an older one
# take turns. scripts/bench.sh calls this. It wants a computer with nothing else to do.
#
# Usage: scripts/lab/wall.sh wall|processes|repeats [COUNT [OLD]] [--load N] [--cpus C]
#
#   wall       fig3b and an incast in one process, over UDP and veth pairs
#   processes  fig3b in 24 processes and in two
#   repeats    how often a run is how good: README's first command, the example of a limiter with actual timing, a
#              limiter's test in real time, a run that is stopped for 200 ms ten times; and the progress of two busy
#              shells next to a run
#   COUNT  how many rounds (default 3); the table has medians
#   OLD    a git revision to compare with; without one the program as it is runs alone
#
#   --load N   N busy shells run at normal priority meanwhile (default 0)
#   --cpus C   the runs have the time of C processors, such as 0.5, like a container with that limit: they are in a
#              control group, made for that and removed at the end (root; version 2, or 1, with the controller cpu)
#
#   DOC=FILE   the document whose table, between the lines <!-- wall --> and <!-- end of wall -->,
#              is to be replaced: docs/notes/validation.md
#   FIRST=TIME how much of fig3b is run, in model time (default 20ms; in processes 12ms)
#   RUNS=N TESTS=N   how many runs, and tests of a limiter, of repeats (default 20 and 100)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# mistake TEXT: ends the script, before it has done anything.
mistake() {
	echo "wall: $1" >&2
	exit 2
}

load=0 cpus=
words=()
while [ $# -gt 0 ]; do
	case $1 in
	--load)
		load=${2:-}
		[[ "$load" =~ ^[0-9]+$ ]] || mistake "--load is a number of busy shells, not $load"
		shift
		;;
	--cpus)
		cpus=${2:-}
		[[ "$cpus" =~ ^[0-9]+(\.[0-9]+)?$ && "$cpus" =~ [1-9] ]] || mistake "--cpus is a number of processors above 0, such as 0.5, not $cpus"
		[ "$(id -u)" -eq 0 ] || mistake "--cpus needs root: it makes a control group; without root, run all of this in a container (docker run --cpus $cpus)"
		shift
		;;
	*) words+=("$1") ;;
	esac
	shift
done
subject=${words[0]:-} count=${words[1]:-3} old=${words[2]:-}
case $subject in
wall) first=${FIRST:-20ms} ;;
processes) first=${FIRST:-12ms} ;;
repeats) first= ;;
*) mistake "the subject is wall, processes or repeats, not $subject" ;;
esac
[[ "$count" =~ ^[1-9][0-9]*$ ]] || mistake "COUNT is a number, not $count"
tmp=$(mktemp -d)
shells=() group= enabled=
cleanup() {
	[ ${#shells[@]} -eq 0 ] || kill "${shells[@]}"
	[ -z "$group" ] || rmdir "$group"
	[ -z "$enabled" ] || echo -cpu >"$enabled"
	rm -rf "$tmp"
	git worktree prune
}
trap cleanup EXIT

# limit: makes a control group whose processes have the time of $cpus processors.
limit() {
	local at quota
	quota=$(awk -v c="$cpus" 'BEGIN { printf "%d", 100000 * c }')
	at=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -n "$at" ] && grep -qw cpu "$at/cgroup.controllers"; then
		if ! grep -qw cpu "$at/cgroup.subtree_control"; then
			echo +cpu >"$at/cgroup.subtree_control" || mistake "the controller cpu cannot be given to groups in $at: give this container its own (docker run --cpus $cpus)"
			enabled=$at/cgroup.subtree_control
		fi
		mkdir "$at/fabemu-bench-$$" && group=$at/fabemu-bench-$$ && echo "$quota 100000" >"$group/cpu.max" && return
	else
		at=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2; exit }' /proc/mounts)
		[ -n "$at" ] || mistake "there is no control group with the controller cpu in /proc/mounts"
		mkdir "$at/fabemu-bench-$$" && group=$at/fabemu-bench-$$ && echo 100000 >"$group/cpu.cfs_period_us" && echo "$quota" >"$group/cpu.cfs_quota_us" && return
	fi
	mistake "the control group in $at cannot be made, or takes no limit"
}
[ -z "$cpus" ] || limit

# enter: moves this shell into the control group, if there is one. inside COMMAND: runs it there.
enter() { [ -z "$group" ] || echo "$BASHPID" >"$group/cgroup.procs"; }
inside() (
	enter
	exec "$@"
)

go build -o "$tmp/new" ./cmd/fabemu
programs=(new)
if [ -n "$old" ]; then
	git worktree add --quiet --detach "$tmp/tree" "$old"
	go build -C "$tmp/tree" -o "$tmp/old" ./cmd/fabemu
	git worktree remove "$tmp/tree"
	programs=(old new)
fi
cat >"$tmp/incast.yaml" <<'END'
name: incast-64
description: 63 senders meet at one receiver, and PFC stops them.
model: {duration: 5ms, seed: 1}
defaults:
  link: {rate: 10Gb/s, propagation: 500ns, flow-control: pfc}
  switch: {kind: output-queued, memory: 100KB per port}
  flow: {packet: 1500B}
switches: {S: {}}
endpoints: ["s[1-63]", sink]
links: ["s[1-63] - S", S - sink]
flows:
  - {name: incast, from: "s[1-63]", to: sink}
END

# busy N: starts N busy shells.
busy() {
	local n
	for ((n = 0; n < $1; n++)); do
		while :; do :; done &
		shells+=($!)
	done
}
busy "$load"

# value KEY FILE: the number of a key in a result.
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},*\$/\1/p" "$2" | head -n 1; }

# seen: how often each line of standard input came.
seen() { sort | uniq -c | awk '{ n = $1; $1 = ""; printf "%s%d%s", sep, n, $0; sep = ", " } END { print "" }'; }

# first_command PROGRAM: README's first command, and what its result says.
first_command() { inside "$tmp/$1" run --verify off --quiet --force --out "$tmp/out" >/dev/null 2>&1 || true; }

repeats() {
	local runs=${RUNS:-20} tests=${TESTS:-100} i program before after began status
	echo "load $load, cpus ${cpus:-all of $(nproc)}, busy at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
	for program in "${programs[@]}"; do
		for ((i = 0; i < runs; i++)); do
			first_command "$program"
			awk -v l="$(value level "$tmp/out/result.json")" -v d="$(value requested_dilation "$tmp/out/result.json")" -v a="$(value achieved_dilation "$tmp/out/result.json")" \
				'BEGIN { print l, d ? a / d : "-" }'
		done >"$tmp/levels"
		echo "README's first command, $program: $(cut -d ' ' -f 1 "$tmp/levels" | seen); achieved / requested dilation at most $(cut -d ' ' -f 2 "$tmp/levels" | sort -g | tail -n 1)"
		for ((i = 0; i < 3 && i < runs; i++)); do
			rm -rf "$tmp/out"
			(
				enter
				exec "$tmp/$program" run --verify off --quiet --out "$tmp/out"
			) >/dev/null 2>&1 &
			began=$!
			sleep 0.5 # it takes 5 s
			for ((status = 0; status < 10; status++)); do
				sleep 0.2
				kill -STOP "$began" 2>/dev/null || break
				sleep 0.2
				kill -CONT "$began"
			done
			wait "$began" || true
			echo "$(value level "$tmp/out/result.json"), $(sed -n '/"longest_holds"/,/\]/p' "$tmp/out/result.json" | awk '/"us"/ && $2 > 190000' | wc -l) holds of more than 190 ms"
		done >"$tmp/stopped"
		echo "stopped for 200 ms, ten times, $program: $(seen <"$tmp/stopped")"
		if [ "$load" -eq 0 ]; then
			busy 2
			before=$(cat /proc/"${shells[0]}"/stat /proc/"${shells[1]}"/stat | awk '{ print $14 + $15 }') began=$(date +%s.%N)
			first_command "$program"
			after=$(cat /proc/"${shells[0]}"/stat /proc/"${shells[1]}"/stat | awk '{ print $14 + $15 }')
			kill "${shells[@]}"
			shells=()
			paste <(echo "$before") <(echo "$after") | awk -v took="$(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { print b - a }')" -v hz="$(getconf CLK_TCK)" \
				-v name="progress of two busy shells beside it, $program" '{ s = s sprintf("%s%.0f %%", sep, 100 * ($2 - $1) / hz / took); sep = ", " } END { print name ": " s }'
		fi
	done
	go build -C docs/examples/limiter -o "$tmp/limiter" .
	for ((i = 0; i < runs; i++)); do (cd docs/examples/limiter && inside "$tmp/limiter" 2>/dev/null || true); done | awk '/ wall +clock/ { print $NF }' >"$tmp/levels"
	echo "the example of a limiter, actual timing: $(seen <"$tmp/levels")"
	go test -C docs/examples/limiter -c -o "$tmp/limiter.test" .
	for ((i = 0; i < tests; i++)); do
		if inside "$tmp/limiter.test" -test.run 'TestBucket/real' >"$tmp/said" 2>&1; then echo passed; else echo failed; fi
	done >"$tmp/levels"
	echo "a limiter's test in real time: $(seen <"$tmp/levels")"
}
if [ $subject = repeats ]; then
	repeats
	exit
fi

# The cases: what the table calls them, and the run.
cases=()
run="hpl2002/fig3b --set model.duration=$first"
if [ $subject = wall ]; then
	for d in 200 100 50 20 10 5; do
		cases+=("fig3b, dilation $d|$run --dilation $d")
	done
	cases+=("incast of 64 with PFC, dilation 100|$tmp/incast.yaml --dilation 100")
	cases+=("fig3b, actual timing, dilation 100|$run --timing actual --dilation 100")
	# Where nothing runs ahead: a datagram for each frame, what is due goes together.
	cases+=("fig3b, actual timing, dilation 8|$run --timing actual --dilation 8")
	cases+=("fig3b, a capture, dilation 8|$run --pcap --dilation 8")
	if [ "$(id -u)" -eq 0 ]; then
		cases+=("fig3b over veth, actual timing, dilation 8|$run --link veth --timing actual --dilation 8")
		for d in 50 20; do
			cases+=("fig3b over veth, dilation $d|$run --link veth --dilation $d")
		done
	fi
else
	for d in 200 100 50; do
		cases+=("24 processes, dilation $d|$run --placement process --dilation $d")
	done
	if [ "${#programs[@]}" -eq 1 ]; then # an older program does not know them
		cases+=("24 processes over Unix sockets, dilation 50|$run --placement process --link unix --dilation 50")
	fi
	cases+=("2 processes, dilation 50|$run --placement domain --dilation 50")
	if [ "$(id -u)" -eq 0 ]; then
		cases+=("24 processes over veth, dilation 200|$run --placement process --link veth --dilation 200")
	fi
fi

# run_once PROGRAM ARGUMENTS: runs a case, and sets cpu (of all processes) and frames.
run_once() {
	local program=$1
	shift
	TIMEFORMAT='%U %S'
	{ time inside "$tmp/$program" run "$@" --verify off --quiet --force --out "$tmp/out" >/dev/null 2>"$tmp/said"; } 2>"$tmp/time" || { cat "$tmp/said" >&2; exit 1; }
	cpu=$(value cpu_seconds "$tmp/out/result.json")
	frames=$(value frames "$tmp/out/result.json")
	[ "$cpu" != null ] || cpu=$(awk '{ print $1 + $2 }' "$tmp/time")
}

for ((round = 1; round <= count; round++)); do
	for i in "${!cases[@]}"; do
		for program in "${programs[@]}"; do
			case=${cases[i]#*|} begin="0 0" r=$tmp/out/result.json
			# shellcheck disable=SC2086 # the arguments of a case are words
			run_once "$program" $case
			off=$(value gaps_off_share "$r") pace=$(value ratio "$r") # an older program measures one of them
			pace=${pace:-$(awk -v d="$(value requested_dilation "$r")" -v a="$(value achieved_dilation "$r")" 'BEGIN { print d / a }')}
			figures="$(value late_share "$r") $(value floor_share "$r") $pace $cpu $frames $(value level "$r")"
			lateness=$(sed -n '/"lateness_us"/,/}/p' "$r")
			late="$(value p99 <(echo "$lateness")) $(value max <(echo "$lateness"))"
			if [ "$(value cpu_seconds "$r")" = null ]; then # that is with the start, which is no cost of a frame
				# shellcheck disable=SC2086
				run_once "$program" ${case/model.duration=$first/model.duration=1ms}
				begin="$cpu $frames"
			fi
			echo "$i $program $figures $begin ${off:-null} $late" >>"$tmp/all"
		done
		echo "...     round $round of $count, ${cases[i]%%|*}" >&2
	done
done

# table: a row for each case, with the medians of its rounds.
table() {
	[ "${#programs[@]}" -gt 1 ] && local name="two programs in turns" || local name=run
	echo "| $name | gaps off, % | late (floor), % | late p99; max, µs | pace, % | CPU, µs/frame | level |"
	echo "|---|---|---|---|---|---|---|"
	local i program
	for i in "${!cases[@]}"; do
		for program in "${programs[@]}"; do
			awk -v i="$i" -v p="$program" -v name="${cases[i]%%|*}" -v many="${#programs[@]}" '
				function median(list, n,   a, b, t) {
					for (a = 1; a < n; a++) for (b = a + 1; b <= n; b++) if (list[b] < list[a]) { t = list[a]; list[a] = list[b]; list[b] = t }
					return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
				}
				$1 == i && $2 == p { n++; late[n] = 100 * $3; floor[n] = 100 * $4; pace[n] = 100 * $5; cpu[n] = 1e6 * ($6 - $9) / ($7 - $10); level[$8]++; off[n] = 100 * $11; p99[n] = $12; if ($13 > max) max = $13; if ($11 == "null") none = 1 }
				END {
					for (l in level) said = said (said ? ", " : "") l (level[l] < n ? " " level[l] " of " n : "")
					if (many > 1) name = name (p == "old" ? ", before" : ", now")
					printf "| %s | %s | %.1f (%.1f) | %.0f; %.0f | %.1f | %.2f | %s |\n", name, none ? "-" : sprintf("%.1f", median(off, n)), median(late, n), median(floor, n), median(p99, n), max, median(pace, n), median(cpu, n), said
				}' "$tmp/all"
		done
	done
}
table | tee "$tmp/table"
if [ -n "${DOC:-}" ]; then
	awk -v table="$tmp/table" -v subject=$subject '
		$0 == "<!-- " subject " -->" { print; while ((getline line < table) > 0) print line; skip = 1; next }
		$0 == "<!-- end of " subject " -->" { skip = 0 }
		!skip' "$DOC" >"$tmp/doc"
	cp "$tmp/doc" "$DOC"
	echo "wall: written to $DOC" >&2
fi
