#!/usr/bin/env bash
#
# Throughput and round trip of two guests over a link of 100 Mb/s, beside the same two programs
# in namespaces that a veth pair with tc htb joins, in turns; and the round trip that a hop
# costs. It prints a table for docs/guide/guests.md, with the lowest and the highest of the rounds, and
# with -update writes it there. Half a minute a round, on a computer that does nothing else.
# Needs root, iperf3, ping, python3 and tc. What it makes it removes.
#
# Usage: scripts/guests.sh [-update] [ROUNDS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

update=
if [ "${1:-}" = -update ]; then update=1; shift; fi
rounds=${1:-5}
tmp=$(mktemp -d)
a=fabemu-htb-$$-a b=fabemu-htb-$$-b
trap 'ip netns delete $a 2>/dev/null || true; ip netns delete $b 2>/dev/null || true; rm -rf "$tmp"' EXIT
go build -o "$tmp/fabemu" ./cmd/fabemu

# figures WHO PING [IPERF]: adds what ping and iperf3 have said to $tmp/figures, and prints it.
figures() {
	python3 - "$@" <<'END' | tee -a "$tmp/figures"
import json, re, sys
who, ping = sys.argv[1], open(sys.argv[2]).read()
least, mean, _ = re.search(r"rtt [^=]*= ([\d.]+)/([\d.]+)/([\d.]+)/", ping).groups()
print(who, "least", least)
print(who, "mean", mean)
for path in sys.argv[3:]:
    end = json.load(open(path))["end"]
    print(who, "rate", end["sum_received"]["bits_per_second"] / 1e6)
    print(who, "again", end["sum_sent"]["retransmits"])
END
}

# pair SWITCHES RATE SECONDS: a scenario of two guests.
pair() {
	local links="[\"h1 - h2\"]" switches="{}"
	if [ "$1" = 1 ]; then links="[\"h[1-2] - S\"]" switches="{S: {kind: output-queued}}"; fi
	cat <<END
name: pair
model: {duration: ${3}s}
wall: {dilation: 1}
defaults: {link: {rate: $2, flow-control: pfc}, flow: {packet: 1600B}}
switches: $switches
endpoints: [{name: "h[1-2]", guest: {kind: tun, tcp: reno}}]
links: $links
flows: [{name: there, from: h1, to: h2}, {name: back, from: h2, to: h1}]
programs:
  - {name: server, on: h2, run: iperf3 -s -1}
  - {name: ping, at: 200ms, on: h1, run: "ping -c 100 -i 0.01 -q h2"}
END
	if [ "$3" -gt 4 ]; then echo "  - {name: client, at: 2s, on: h1, run: iperf3 -c h2 -t 5 -J}"; fi
}

for round in $(seq "$rounds"); do
	echo "round $round of $rounds" >&2
	pair 1 100Mb/s 9 >"$tmp/pair.yaml"
	"$tmp/fabemu" run "$tmp/pair.yaml" --out "$tmp/out" --force >/dev/null 2>&1
	figures fabemu "$tmp/out/programs/ping.out" "$tmp/out/programs/client.out"

	ip netns add $a
	ip netns add $b
	ip -n $a link add e type veth peer name e netns $b
	for end in "$a 1" "$b 2"; do
		set -- $end
		ip -n "$1" addr add 10.0.0.$2/24 dev e
		ip -n "$1" link set e up
		ip netns exec "$1" sysctl -q net.ipv4.tcp_congestion_control=reno
		tc -n "$1" qdisc add dev e root handle 1: htb default 1
		tc -n "$1" class add dev e parent 1: classid 1:1 htb rate 100mbit
	done
	ip netns exec $b iperf3 -s -1 >/dev/null &
	sleep 0.2
	ip netns exec $a ping -c 100 -i 0.01 -q 10.0.0.2 >"$tmp/htb.ping"
	ip netns exec $a iperf3 -c 10.0.0.2 -t 5 -J >"$tmp/htb.json"
	wait
	figures htb "$tmp/htb.ping" "$tmp/htb.json"
	ip netns delete $a
	ip netns delete $b

	for switches in 0 1; do
		pair $switches 10Gb/s 4 >"$tmp/pair.yaml"
		"$tmp/fabemu" run "$tmp/pair.yaml" --out "$tmp/out" --force >/dev/null 2>&1
		figures "links$((switches + 1))" "$tmp/out/programs/ping.out"
	done
done

python3 - "$tmp/figures" "$rounds" "${update:+docs/guide/guests.md}" <<'END'
import os, re, sys
figures = {}
for line in open(sys.argv[1]):
    who, what, value = line.split()
    figures.setdefault((who, what), []).append(float(value))
def span(who, what, form):
    low, high = (form % f(figures[who, what]) for f in (min, max))
    return low if low == high else low + " to " + high
rows = ["| | fabemu | `tc htb` |", "|---|---|---|"]
for what, name, form, unit in [
    ("rate", "what `iperf3` receives, Reno", "%.1f", " Mb/s"), ("again", "segments sent again", "%d", ""),
    ("least", "least round trip of 100, of which the lines take 0.03 ms", "%.2f", " ms"), ("mean", "mean round trip", "%.2f", " ms"),
]:
    rows.append("| %s | %s%s | %s%s |" % (name, span("fabemu", what, form), unit, span("htb", what, form), unit))
for links, name in [("links1", "over one link of 10 Gb/s, least"), ("links2", "over two, with a switch between")]:
    rows.append("| %s | %s ms | |" % (name, span(links, "least", "%.2f")))
load = open("/proc/loadavg").read().split()[0]
rows += ["", "%s rounds, lowest and highest, on a computer with %d processors and a load of %s at the end; kernel %s." % (sys.argv[2], os.cpu_count(), load, os.uname().release.split("-")[0])]
table = "\n".join(rows)
print(table)
if sys.argv[3]:
    text = open(sys.argv[3]).read()
    mark = re.compile(r"(<!-- measured -->\n).*?(\n<!-- end of measured -->)", re.S)
    assert mark.search(text), "docs/guide/guests.md has no place for it"
    open(sys.argv[3], "w").write(mark.sub(lambda m: m[1] + table + m[2], text))
END
