#!/usr/bin/env bash
#
# The timing of runs on the wall clock: gaps that are off, late data frames and the floor of the
# machine, the pace (requested / achieved dilation), and the processor time of a frame. This program and an older one
# take turns. scripts/bench.sh wall calls this. It wants a computer with nothing else to do.
#
# Usage: scripts/wall.sh wall|processes [COUNT [OLD]]
#
#   wall       fig3b and an incast in one process, over UDP and veth pairs
#   processes  fig3b in 24 processes and in two
#   COUNT  how many rounds (default 3); the table has medians
#   OLD    a git revision to compare with; without one the program as it is runs alone
#
#   DOC=FILE   the document whose table, between the lines <!-- wall --> and <!-- end of wall -->
#              (or processes), is to be replaced: docs/notes/validation.md, docs/guide/processes.md
#   LOAD=N     N busy shells run at normal priority meanwhile (default 0)
#   FIRST=TIME how much of fig3b is run, in model time (default 20ms; in processes 12ms)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

subject=${1:-} count=${2:-3} old=${3:-}
case $subject in
wall) first=${FIRST:-20ms} ;;
processes) first=${FIRST:-12ms} ;;
*)
	echo "wall: the subject is wall or processes, not $subject" >&2
	exit 2
	;;
esac
if [[ ! "$count" =~ ^[1-9][0-9]*$ ]]; then
	echo "wall: COUNT is a number, not $count" >&2
	exit 2
fi
tmp=$(mktemp -d)
shells=()
cleanup() {
	[ ${#shells[@]} -eq 0 ] || kill "${shells[@]}"
	rm -rf "$tmp"
	git worktree prune
}
trap cleanup EXIT

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

for ((n = 0; n < ${LOAD:-0}; n++)); do
	while :; do :; done &
	shells+=($!)
done

# The cases: what the table calls them, and the run.
cases=()
run="hpl2002/fig3b --set model.duration=$first"
if [ $subject = wall ]; then
	for d in 200 100 50 20 10 5; do
		cases+=("fig3b, dilation $d|$run --dilation $d")
	done
	cases+=("incast of 64 with PFC, dilation 100|$tmp/incast.yaml --dilation 100")
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
	cases+=("2 processes, dilation 50|$run --placement domain --dilation 50")
	if [ "$(id -u)" -eq 0 ]; then
		cases+=("24 processes over veth, dilation 200|$run --placement process --link veth --dilation 200")
	fi
fi

# value KEY FILE: the number of a key in a result.
value() { sed -n "s/^ *\"$1\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},*\$/\1/p" "$2" | head -n 1; }

# run_once PROGRAM ARGUMENTS: runs a case, and sets cpu (of all processes) and frames.
run_once() {
	local program=$1
	shift
	TIMEFORMAT='%U %S'
	{ time "$tmp/$program" run "$@" --verify off --quiet --force --out "$tmp/out" >/dev/null 2>"$tmp/said"; } 2>"$tmp/time" || { cat "$tmp/said" >&2; exit 1; }
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
			if [ "$(value cpu_seconds "$r")" = null ]; then # that is with the start, which is no cost of a frame
				# shellcheck disable=SC2086
				run_once "$program" ${case/model.duration=$first/model.duration=1ms}
				begin="$cpu $frames"
			fi
			echo "$i $program $figures $begin ${off:-null}" >>"$tmp/all"
		done
		echo "...     round $round of $count, ${cases[i]%%|*}" >&2
	done
done

# table: a row for each case, with the medians of its rounds.
table() {
	[ "${#programs[@]}" -gt 1 ] && local name="two programs in turns" || local name=run
	echo "| $name | gaps off, % | late (floor), % | pace, % | CPU, µs/frame | level |"
	echo "|---|---|---|---|---|---|"
	local i program
	for i in "${!cases[@]}"; do
		for program in "${programs[@]}"; do
			awk -v i="$i" -v p="$program" -v name="${cases[i]%%|*}" -v many="${#programs[@]}" '
				function median(list, n,   a, b, t) {
					for (a = 1; a < n; a++) for (b = a + 1; b <= n; b++) if (list[b] < list[a]) { t = list[a]; list[a] = list[b]; list[b] = t }
					return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
				}
				$1 == i && $2 == p { n++; late[n] = 100 * $3; floor[n] = 100 * $4; pace[n] = 100 * $5; cpu[n] = 1e6 * ($6 - $9) / ($7 - $10); level[$8]++; off[n] = 100 * $11; if ($11 == "null") none = 1 }
				END {
					for (l in level) said = said (said ? ", " : "") l (level[l] < n ? " " level[l] " of " n : "")
					if (many > 1) name = name (p == "old" ? ", before" : ", now")
					printf "| %s | %s | %.1f (%.1f) | %.1f | %.2f | %s |\n", name, none ? "-" : sprintf("%.1f", median(off, n)), median(late, n), median(floor, n), median(pace, n), median(cpu, n), said
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
