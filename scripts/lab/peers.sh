#!/usr/bin/env bash
#
# What a hop costs on the virtual clock, compared with other simulators that do the same work: CPU time
# of pairs that take turns, start-up subtracted (each run is done short and long), as a ratio.
# With "rates": rates and queues over time of HPCC, Swift and
# DCTCP compared with htsim's. It prints all tables, and writes one and the pictures into
# docs/notes/validation.md.
#
# Usage: scripts/lab/peers.sh [COUNT]
#        HTSIM=DIR scripts/lab/peers.sh rates
#        HTSIM=DIR scripts/lab/peers.sh matrices
#        UETHTSIM=DIR scripts/lab/peers.sh uet [SEEDS]
#
# With "matrices": FCTs of htsim's own programs on its connection matrices, for emu/study/papers/words/htsim.yaml. Sources of
# RoCE and HPCC seed htsim's random numbers with the time, so paths, and figures by about a percent, differ from call to call.
#
# With "uet": FCTs of the reference model of Ultra Ethernet, for emu/study/papers/words/uet.yaml, and beside them those of
# fabemu. UETHTSIM=DIR is a tree of ultraethernet/uet-htsim; its program is built in a temporary folder. SEEDS is the most
# seeds of each configuration. All take half an hour.
#
#   COUNT  how many pairs of each case (default 3)
#
# Without anything else fabemu is compared with a bare loop of events in Go (scripts/measure/bare),
# which is a measure of the computer. With these variables it is compared with peers too, which
# are built in a temporary folder:
#
#   PEERS=DIR  programs and scenarios for the comparison: htsim_dumbbell.cpp, htsim_incast.cpp,
#              htsim_fattree.cpp, ns3_fabric.cc, scenarios/ft128-eth.yaml. A program takes its
#              size and milliseconds of model time, and prints "hops N" or "datahops N"
#   HTSIM=DIR  a tree of htsim (Broadcom/csg-htsim), for htsim_*.cpp; sim/libhtsim.a is used
#              where it is there, and otherwise built from a copy
#   ns-3       is used where pkg-config knows it
#   FABEMU=F   another binary in place of the tree's
#   DOC=FILE   the document whose table, between the lines <!-- peers --> and
#              <!-- end of peers -->, is to be replaced: docs/notes/validation.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

count=${1:-3}
if [[ ! "$count" =~ ^([1-9][0-9]*|rates|matrices|uet)$ ]]; then
	echo "peers: COUNT is a number, not $count" >&2
	exit 2
fi
if [[ "$count" = rates || "$count" = matrices ]] && [ ! -d "${HTSIM:-}/sim" ]; then
	echo "peers: $count wants HTSIM=DIR, a tree of htsim (Broadcom/csg-htsim)" >&2
	exit 2
fi
if [ "$count" = uet ] && [ ! -d "${UETHTSIM:-}/htsim/sim" ]; then
	echo "peers: uet wants UETHTSIM=DIR, a tree of uet-htsim (ultraethernet/uet-htsim)" >&2
	exit 2
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fabemu=${FABEMU:-$tmp/fabemu}
if [ -z "${FABEMU:-}" ] && [ "$count" != matrices ]; then
	pgo=build/$(sha256sum <scripts/virtual.pgo | cut -c 1-16).pgo # as in scripts/release.sh
	mkdir -p build
	[ -e "$pgo" ] || ln -sf ../scripts/virtual.pgo "$pgo"
	go build -gcflags "fabemu/...=-pgoprofile=$pgo" -o "$fabemu" ./cmd/fabemu # as it is released
fi

# library: copies htsim and builds its library, once.
library() {
	[ ! -d "$tmp/sim" ] || return 0
	cp -r "$HTSIM/sim" "$tmp/sim"
	[ -f "$tmp/sim/libhtsim.a" ] || make -C "$tmp/sim" libhtsim.a >"$tmp/make.log" 2>&1 || {
		tail -n 5 "$tmp/make.log" >&2
		return 1
	}
}

# The rules that differ in htsim: the scheme, the number, the file, and the edit that switches the rule. A rule without a
# change is refused.
#
# HPCC (1 to 5: Algorithm 1 of the paper):
#
#   1  txRate is computed from the previous ACK; htsim keeps the first.
#   2  U is an average; htsim divides integers, so U is constant until tau reaches T.
#   3  W is computed from the reference Wc; htsim uses the window that each ACK overwrites.
#   4  No window exceeds the first.
#   5  The queue in telemetry excludes the packet that leaves.
#   6  Windows count bytes on the link; htsim counts payload.
#   7  A source that waits for its window sends when the ACK arrives; htsim polls once per packet time.
#   8  Telemetry is written when a packet starts to leave; htsim writes it afterwards.
#
# DCTCP (1 to 4: RFC 8257; 6, 10: RFC 3168; 8, 10: RFC 5681):
#
#   1  The window shrinks only if one of its segments was marked; htsim shrinks it while alpha is above 0.
#   2  Alpha starts at 1; in htsim at 0.
#   3  An observation ends with the ACK of all data sent before it; htsim counts ACKs.
#   4  The first echo shrinks the window, once per round trip; htsim waits for the observation to end.
#   5  The threshold excludes the packet that is being sent.
#   6  An ACK with an echo does not grow the window.
#   7  A packet is marked when it starts to leave; htsim marks afterwards.
#   8  The window grows by whole segments; htsim adds a fraction per ACK.
#   9  An ACK grows the window even if more is in flight than it allows.
#  10  The answer to SYN changes neither window nor alpha.
rules=(
	'hpcc 1 hpcc.cpp s/^( *)tau = min \(tau, _T\);/\1std::copy(ack._int_info, ack._int_info + _link_count, _link_info);\n&/'
	'hpcc 2 hpcc.cpp s/tau\/_T/(double)tau\/_T/g'
	'hpcc 3 hpcc.cpp s/W = _cwnd /W = _Wc /; s/_cwnd = W;/_Wc = W;/; s/_link_count = 0;/& _Wc = _cwnd;/'
	'hpcc 4 hpcc.cpp s/^( *)W = .*_Wai;/& W = min(W, (HPCCPacket::seq_t)(_T * (_bitrate \/ 8e12)));/'
	'hpcc 5 queue_lossless_output.cpp s/_queuesize = _queuesize;/_queuesize = _queuesize - pkt->size();/'
	'hpcc 6 hpcc.cpp s/_cwnd >= _flightsize \+ _mss/_cwnd >= (_flightsize + _mss) * (_mss + HPCCPacket::ACKSIZE) \/ _mss/'
	'hpcc 7 hpcc.cpp s/if \((_cwnd >= .*_mss)\) *$/if (!(\1)) { eventlist().sourceIsPendingRel(*this, _packet_spacing \/ 16 + 1); return; }/'
	'hpcc 8 queue_lossless_output.cpp s/if \(pkt->type\(\)==HPCC\)/if (false)/; s/_sending = 1;/& if (_enqueued.back()->type() == HPCC) { HPCCPacket* h = (HPCCPacket*)_enqueued.back(); IntEntry\& e = h->_int_info[h->_int_hop++]; e._queuesize = _queuesize - h->size(); e._ts = eventlist().now(); e._txbytes = _txbytes; e._linkrate = _bitrate; }/'
	'dctcp 1 dctcp.cpp s/if \(_alfa>0\)/if (f > 0)/'
	'dctcp 2 dctcp.cpp s/_alfa = 0;/_alfa = 1;/'
	'dctcp 3 dctcp.cpp s/if \(_pkts_seen \* _mss >= _past_cwnd\)/if (((TcpAck\&)pkt).ackno() > _end)/; s/_past_cwnd = _cwnd;/& _end = _highest_sent;/'
	'dctcp 4 dctcp.cpp s/if \(f > 0\)/if (false)/; s/^( *)TcpSrc::receivePacket\(pkt\);/\1if ((pkt.flags() \& ECN_ECHO) \&\& ((TcpAck\&)pkt).ackno() > _cut) _cwnd = max(_cwnd * (1 - _alfa \/ 2), (double)_mss), _ssthresh = _cwnd, _cut = _highest_sent;\n&/'
	'dctcp 5 ecnqueue.cpp s/^( *)if \(_queuesize > _K\)/\1if (_queuesize - pkt->size() > _K)/'
	'dctcp 6 tcp.cpp s/if \(queued_fraction>=0.5&&_mSrc&&_cap\)/if (_cap)/'
	'dctcp 6 dctcp.cpp s/^( *)_pkts_seen\+\+;/& _cap = pkt.flags() \& ECN_ECHO;/'
	'dctcp 7 ecnqueue.cpp s/if \(_queuesize - pkt->size\(\) > _K\)/if (false)/; s/_queuesize -= pkt->size\(\);/& if (!_enqueued.empty() \&\& _queuesize - _enqueued.back()->size() > _K) _enqueued.back()->set_flags(_enqueued.back()->flags() | ECN_CE);/'
	'dctcp 8 tcp.cpp s/_cwnd \+= \(newly_acked \* _mss\) \/ _cwnd;/if ((_rtt_avg += _mss) >= _cwnd) { _rtt_avg -= _cwnd; _cwnd += _mss; }/' # nothing reads _rtt_avg
	'dctcp 8 dctcp.cpp s/_cut = _highest_sent/&, _rtt_avg = 0/'
	'dctcp 9 tcp.cpp s/if \(newly_acked < 0\)/if (newly_acked < 0) newly_acked = _mss; if (false)/'
	'dctcp 10 dctcp.cpp s/^( *)_pkts_seen\+\+;/\1if (!_established) { _cwnd -= _mss; TcpSrc::receivePacket(pkt); return; } &/' # which adds _mss
)

# rates: builds htsim with each number of rules, runs it and fabemu, and writes docs/notes/validation.md.
rates() {
	local main=scripts/measure/peers/htsim_rates.cpp sim=$tmp/sim compile rule scheme number file edit
	compile=(g++ -O2 -std=c++11 -w -I"$sim" -I"$sim/datacenter")
	library && mkdir "$tmp/programs" "$tmp/rates"
	sed -i 's/double _alfa;/& uint64_t _end = 0, _cut = 0;/' "$sim/dctcp.h" # for rules 3 and 4
	for scheme in hpcc swift dctcp; do
		rm -f "$tmp"/*.o
		"${compile[@]}" -o "$tmp/programs/$scheme-0" "$main" "$sim/dctcp.cpp" "$sim/libhtsim.a"
		for rule in "${rules[@]}"; do
			[[ "$rule" = "$scheme "* ]] || continue
			read -r scheme number file edit <<<"$rule"
			sed -E "$edit" "$sim/$file" >"$tmp/edited"
			if cmp -s "$tmp/edited" "$sim/$file"; then
				echo "peers: rule $number of $scheme finds nothing to change in this htsim's $file" >&2
				return 1
			fi
			mv "$tmp/edited" "$sim/$file"
			touch "$tmp/${file%.*}.o"
			for file in "$tmp"/*.o; do
				file=$(basename "$file" .o)
				"${compile[@]}" -c -o "$tmp/$file.o" "$sim/$file.cpp"
			done
			"${compile[@]}" -o "$tmp/programs/$scheme-$number" "$main" "$tmp"/*.o "$sim/libhtsim.a"
		done
	done
	go run ./scripts/measure/rates "$fabemu" "$tmp/programs" "$tmp/rates"
	cp "$tmp"/rates/*.svg docs/notes/
	within htsim "$tmp/rates/htsim.md" docs/notes/validation.md
}

# matrices: prints for each connection matrix and scheme the mean of all FCTs and of the last in µs, and their deviations
# over seeds, and the means by rank. Swift's seed is fixed in htsim; it is taken from the environment.
matrices() {
	local sim=$tmp/sim rule scheme number file edit
	sim_of() { make -j "$(nproc)" -C "$sim" >"$tmp/make.log" 2>&1 && make -j "$(nproc)" -C "$sim/datacenter" "$@" >>"$tmp/make.log" 2>&1 || {
		tail -n 5 "$tmp/make.log" >&2
		return 1
	}; }
	cp -rp "$HTSIM/sim" "$sim"
	sed -i 's/srand(13)/srand(atoi(getenv("SEED")))/' "$sim/datacenter/main_swift.cpp"
	rm -f "$sim/datacenter/htsim_swift" "$sim/datacenter/main_swift.o"
	sim_of htsim_roce htsim_hpcc htsim_swift
	local -a lines=("one 1 16 20000" "incast 30 16 20000" "perm_16n_16c_2MB 100 16 20000" "incast_128 30 128 100000")
	many() { # SCHEME NAME
		local line name seeds nodes end seed
		for line in "${lines[@]}"; do
			read -r name seeds nodes end <<<"$line"
			for ((seed = 1; seed <= seeds; seed++)); do
				local common=(-q 10000 -nodes "$nodes" -end "$end" -tm "$sim/datacenter/connection_matrices/$name.cm" -o "$tmp/log")
				if [ "$1" = swift ]; then
					SEED=$seed "$sim/datacenter/htsim_swift" -flowsize 500 "${common[@]}"
				else
					"$sim/datacenter/htsim_$1" -mtu 4000 -seed "$seed" -strat ecmp_host -paths 128 "${common[@]}"
				fi | awk '/finished/ { for (i = 1; i <= NF; i++) if ($i == "at") print $(i + 1) }' | sort -g | tr '\n' ' '
				echo
			done | awk -v name="$2 $name" '
				NF > 0 {
					runs++
					sum = 0
					for (i = 1; i <= NF; i++) { sum += $i; rank[i] += $i }
					mean += sum / NF; mean2 += (sum / NF) ^ 2; last += $NF; last2 += $NF ^ 2; flows = NF
				}
				function deviation(a, b) { b -= a * a / runs; return runs > 1 && b > 0 ? sqrt(b / (runs - 1)) : 0 }
				END {
					printf "%s: mean %.1f (%.1f) last %.1f (%.1f), %d flows, %d runs\n ", name, mean / runs, deviation(mean, mean2), last / runs, deviation(last, last2), flows, runs
					for (i = 1; i <= flows && flows < 20; i++) printf " %.0f", rank[i] / runs
					print ""
				}'
		done
	}
	many roce "PFC alone:"
	many hpcc "HPCC:"
	many swift "Swift:"
	sed -i 's/^\( *Route \*copy = new Route(_hop_count);\)/\1 copy->_hop_count = _hop_count;/' "$sim/route.cpp"
	for rule in "${rules[@]}"; do
		[[ "$rule" = "hpcc "* ]] || continue
		read -r scheme number file edit <<<"$rule"
		sed -i -E "$edit" "$sim/$file"
	done
	rm -f "$sim"/{route,hpcc,queue_lossless_output}.o "$sim/libhtsim.a" "$sim"/datacenter/htsim_{hpcc,swift}
	sim_of htsim_hpcc htsim_swift
	many hpcc "HPCC by the paper's rules:"
	many swift "Swift with the number of hops:"
}

# uet: prints for each configuration, under NSCC and RCCC, the means over seeds of the first FCT, of the mean of all and of the
# last, in µs, each with its standard error. A line has the name, the seeds, the model's arguments, the scenario, its settings,
# and the time of the last ACK, with which the model's FCTs end.
uet() {
	local sim=$tmp/uet line name seeds model scenario sets back control most=${1:-1000} seed
	cp -r "$UETHTSIM/htsim/sim" "$sim"
	{
		sed -n '/^set(SOURCE_FILES/,/^)/p' "$sim/CMakeLists.txt"
		sed -n '/^set(LIB_SOURCES/,/^)/s|[a-z0-9_]*\.cpp|datacenter/&|p' "$sim/datacenter/CMakeLists.txt"
		echo datacenter/main_uec.cpp
	} | grep -o '[a-z0-9_/]*\.cpp' >"$tmp/sources"
	(cd "$sim" && xargs -P "$(nproc)" -I{} g++ -std=c++17 -O2 -w -I. -Idatacenter -c {} -o {}.o <"$tmp/sources" &&
		sed 's/$/.o/' "$tmp/sources" | xargs g++ -o htsim_uec) >"$tmp/make.log" 2>&1 || {
		tail -n 5 "$tmp/make.log" >&2
		return 1
	}
	local fat="-topo topologies/fat_tree_128_Nos.topo" wide="-tm perm_128n_128c_2MB.cm" d=defaults.flow
	local untrimmed="defaults.switch.trim=none defaults.switch.output-limit=892250B $d.transport.rto=443.28us $d.control.target-share=1"
	local -a lines=(
		"incast|30|-tm incast.cm|uet/incast||6.05"
		"permutation|10|-tm perm_16n_16c_2MB.cm -paths 128|uet/permutation||6.05"
		"permutation-128, 1:1|5|$wide ${fat/N/1}|uet/permutation-128||6.05"
		"permutation-128, 4:1|5|$wide ${fat/N/4}|uet/permutation-128-4to1||6.05"
		"permutation-128, 8:1|5|$wide ${fat/N/8}|uet/permutation-128-8to1||6.05"
		"4:1, no trimming|5|$wide ${fat/N/4} -disable_trim|uet/permutation-128-4to1|$untrimmed|6.05"
		"bitmap|5|$wide ${fat/N/1} -load_balancing_algo bitmap|uet/permutation-128|$d.transport.spray=bitmap|6.05"
		"reps|5|$wide ${fat/N/1} -load_balancing_algo reps|uet/permutation-128|$d.transport.spray=reps|6.05"
		"oblivious|5|$wide ${fat/N/1} -load_balancing_algo oblivious|uet/permutation-128|$d.transport.spray=oblivious|6.05"
		"adaptive switches|5|$wide ${fat/N/1} -strat ecmp_ar|uet/permutation-128|$d.transport.spray=none routing.balance=adaptive|6.05"
		"outcast|5|-tm outcast_incast.cm|uet/outcast||6.05"
		"incast-128|3|-tm incast_128.cm|uet/incast-128||6.05"
	)
	printf '%-22s %-5s %-9s %-16s %-16s %-16s\n' "" "" "" first mean last
	for line in "${lines[@]}"; do
		IFS='|' read -r name seeds model scenario sets back <<<"$line"
		seeds=$((seeds < most ? seeds : most))
		for control in nscc rccc; do
			local flag=-sender_cc_only own=()
			case "$control $name" in
			rccc*trimming | rccc*adaptive* | rccc*bitmap | rccc*reps | rccc*oblivious | rccc*outcast) continue ;;
			rccc*) flag=-receiver_cc_only own=("$d.packet=4074B" "$d.size=1994120B" "$d.control.algorithm=rccc") ;;
			esac
			case "$control $name" in
			rccc*[48]:1) own+=("$d.control.oversubscription=${scenario: -4:1}") ;;
			esac
			# shellcheck disable=SC2206,SC2086 # lists
			own+=($sets)
			for ((seed = 1; seed <= seeds; seed++)); do
				# shellcheck disable=SC2086 # a list
				(cd "$sim/datacenter" && ../htsim_uec ${model/-tm /-tm connection_matrices/} "$flag" -end 100000 -seed "$seed" -o "$tmp/log") |
					sed -n 's/.* finished at \([0-9.]*\) .*/\1/p' | sort -g | tr '\n' ' '
				echo
			done | spread "$name" "$control" uet-htsim
			for ((seed = 1; seed <= seeds; seed++)); do
				"$fabemu" run "$scenario" --clock virtual --seed "$seed" "${own[@]/#/--set=}" --events --events-kinds transfer-end \
					--out "$tmp/run" --force >/dev/null 2>"$tmp/err" || cat "$tmp/err" >&2
				sed -n 's/.*"time_ps":\([0-9]*\),.*/\1/p' "$tmp/run/events.jsonl" | awk -v back="$back" '{ print $1 / 1e6 + back }' | sort -g | tr '\n' ' '
				echo
			done | spread "" "" fabemu
		done
	done
}

# spread NAME CONTROL WHO: prints the means and errors of lines of FCTs, in ascending order, a line for each seed.
spread() {
	awk -v name="$1" -v control="$2" -v who="$3" '
		NF > 0 {
			runs++
			mean = 0
			for (i = 1; i <= NF; i++) mean += $i / NF
			v[1] = $1; v[2] = mean; v[3] = $NF
			for (i = 1; i <= 3; i++) { sum[i] += v[i]; squares[i] += v[i] ^ 2 }
		}
		END {
			printf "%-22s %-5s %-9s", name, control, who
			for (i = 1; i <= 3 && runs; i++) {
				variance = runs > 1 ? (squares[i] - sum[i] ^ 2 / runs) / (runs - 1) : 0
				printf " %-16s", sprintf("%.1f (%.1f)", sum[i] / runs, sqrt(variance > 0 ? variance / runs : 0))
			}
			print ""
		}'
}

# within NAME PART DOCUMENT: writes a part between the lines <!-- NAME --> and <!-- end of NAME -->
# of a document.
within() {
	awk -v name="$1" -v part="$2" '
		$0 == "<!-- end of " name " -->" { skip = 0 }
		!skip
		$0 == "<!-- " name " -->" {
			while ((getline line <part) > 0) print line
			skip = 1
		}' "$3" >"$tmp/document"
	cat "$tmp/document" >"$3"
}

if [[ "$count" = rates || "$count" = matrices || "$count" = uet ]]; then
	"$count" "${@:2}"
	exit
fi
go build -o "$tmp/bare" ./scripts/measure/bare

# htsim PROGRAM [FILE...]: builds a program of $PEERS with htsim and some of its files, if both
# are there.
htsim() {
	local program=$1
	shift
	[ -n "${PEERS:-}" ] && [ -n "${HTSIM:-}" ] && [ -f "$PEERS/$program.cpp" ] || return 1
	library || return 1
	g++ -O3 -std=c++11 -w -I"$tmp/sim" -I"$tmp/sim/datacenter" -o "$tmp/$program" "$PEERS/$program.cpp" "${@/#/$tmp/sim/datacenter/}" "$tmp/sim/libhtsim.a"
}

# ns3: builds ns3_fabric with the ns-3 that pkg-config knows.
ns3() {
	local module modules=() flags
	[ -n "${PEERS:-}" ] && [ -f "$PEERS/ns3_fabric.cc" ] && command -v pkg-config >/dev/null || return 1
	for module in core network point-to-point csma internet; do
		modules+=("$(pkg-config --list-all | awk -v m="-$module\$" '$1 ~ /^(lib)?ns3/ && $1 ~ m { print $1; exit }')")
	done
	flags=$(pkg-config --cflags --libs "${modules[@]}" 2>/dev/null | sed 's/[^ ]*libgsl[^ ]*//g') || return 1
	# shellcheck disable=SC2086 # a list
	g++ -O3 -w -o "$tmp/ns3_fabric" "$PEERS/ns3_fabric.cc" $flags >"$tmp/ns3.log" 2>&1 || {
		tail -n 5 "$tmp/ns3.log" >&2
		return 1
	}
}

# took COMMAND...: the CPU time of a command in seconds, and the hops that it tells.
took() {
	local TIMEFORMAT='%U %S' cpu
	cpu=$({ time "$@" >"$tmp/out" 2>"$tmp/err"; } 2>&1) || {
		cat "$tmp/err" >&2
		return 1
	}
	awk -v cpu="$cpu" '{ for (i = 1; i < NF; i++) if ($i ~ /^(data)?hops$/) n = $(i + 1) } END { split(cpu, t, " "); print t[1] + t[2], n }' "$tmp/out"
}

# ran WHICH SCENARIO DURATION: the same of a run of fabemu. WHICH frames are hops: data and ACKs
# (frame_hops), or those of any kind (frames).
ran() {
	took "$fabemu" run "$2" --clock virtual --set "model.duration=$3ms" --out "$tmp/run" --force >"$tmp/cpu" || return 1
	awk -v cpu="$(cut -d ' ' -f 1 "$tmp/cpu")" -v key="\"$1\":" '$1 == key && !n { n = $2 + 0 } END { print cpu, n }' "$tmp/run/result.json"
}

# each COMMAND... -- LONG: nanoseconds of CPU per hop of a command in which MS stands for how many
# ms of model time it runs, with a run of a tenth of that subtracted.
each() {
	local long=${*: -1} command=("${@:1:$#-2}")
	{
		"${command[@]//MS/$((long / 10))}"
		"${command[@]//MS/$long}"
	} | awk 'NR == 1 { cpu = $1; n = $2 } END { if ($2 > n) print ($1 - cpu) * 1e9 / ($2 - n); else exit 1 }'
}

# pair NAME SCENARIO HOPS LONG PEER-LONG PEER...: compares a scenario with a peer, in turns.
pair() {
	local name=$1 scenario=$2 hops=$3 long=$4 peer_long=$5 i
	shift 5
	for ((i = 0; i < count; i++)); do
		echo "$(each took "$@" -- "$peer_long") $(each ran "$hops" "$scenario" MS -- "$long")"
	done | sort -g -k 2 | awk -v name="$name" '
		{ a[NR] = $1; b[NR] = $2; ratio[NR] = $2 / $1 }
		END {
			for (i = 1; i <= NR; i++) for (k = i + 1; k <= NR; k++) {
				if (ratio[k] < ratio[i]) { t = ratio[i]; ratio[i] = ratio[k]; ratio[k] = t }
				if (a[k] < a[i]) { t = a[i]; a[i] = a[k]; a[k] = t }
			}
			printf "%-44s %8.0f %8.0f %8.2f   %.2f to %.2f\n", name, a[int((NR + 1) / 2)], b[int((NR + 1) / 2)], ratio[int((NR + 1) / 2)], ratio[1], ratio[NR]
		}' | tee -a "$tmp/table"
}

# table: the table of all pairs, for a document.
table() {
	echo "| median CPU (ns/hop) | peer | fabemu | ratio | range |"
	echo "|---|---:|---:|---:|---|"
	awk '{
		name = substr($0, 1, 44)
		sub(/ +$/, "", name)
		split(substr($0, 45), v, " ")
		printf "| %s | %s | %s | %s | %s–%s |\n", name, v[1], v[2], v[3], v[4], v[6]
	}' "$tmp/table"
	printf '\n%s\n' "$under"
}

under="load: $(cut -d ' ' -f 1 /proc/loadavg), cpus: $(nproc), $(go env GOVERSION), $count pairs of each"
echo "$under"
printf '%-44s %8s %8s %8s\n' "ns of CPU a hop, medians" peer fabemu ratio
own=scripts/measure/peers
pair "dumbbell 8+8, bare loop in Go" $own/dumbbell.yaml frame_hops 1000 4000 "$tmp/bare" 8 MS
if htsim htsim_dumbbell; then
	pair "dumbbell 8+8, htsim" $own/dumbbell.yaml frame_hops 1000 4000 "$tmp/htsim_dumbbell" 8 MS
	pair "dumbbell 8+8, InfiniBand, all frames, htsim" $own/dumbbell-ib.yaml frames 500 4000 "$tmp/htsim_dumbbell" 8 MS
fi
if htsim htsim_incast; then
	pair "incast 16:1, PAUSE, htsim" $own/incast.yaml frame_hops 1000 2000 "$tmp/htsim_incast" 16 MS noack
fi
fat=${PEERS:-}/scenarios/ft128-eth.yaml
if [ -f "$fat" ] && htsim htsim_fattree fat_tree_topology.cpp fat_tree_switch.cpp firstfit.cpp connection_matrix.cpp; then
	pair "fat tree k=8, htsim with source routes" "$fat" frame_hops 20 20 "$tmp/htsim_fattree" MS single noack
	pair "fat tree k=8, htsim with tables" "$fat" frame_hops 20 20 "$tmp/htsim_fattree" MS ecmp noack
fi
if ns3; then
	pair "dumbbell 8+8, ns-3 raw" $own/dumbbell.yaml frame_hops 1000 500 "$tmp/ns3_fabric" --mode=raw --ms=MS
	[ ! -f "$fat" ] || pair "fat tree k=8, ns-3 raw" "$fat" frame_hops 20 20 "$tmp/ns3_fabric" --mode=raw --fabric=fattree --ms=MS
fi
if [ -n "${DOC:-}" ]; then
	table >"$tmp/part"
	within peers "$tmp/part" "$DOC"
fi
