#!/usr/bin/env bash
#
# Throughput and round trip of two guests over a link of 100 Mb/s, beside the same two programs
# in namespaces that a veth pair with tc htb joins, in turns; and the round trip that a hop
# costs. Needs root, iperf3, ping and tc. What it makes it removes.
#
# Usage: scripts/guests.sh [ROUNDS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=${1:-3}
tmp=$(mktemp -d)
a=fabemu-htb-$$-a b=fabemu-htb-$$-b
trap 'ip netns delete $a 2>/dev/null || true; ip netns delete $b 2>/dev/null || true; rm -rf "$tmp"' EXIT
go build -o "$tmp/fabemu" ./cmd/fabemu

ping_words='s|^rtt [^=]*= \([0-9.]*\)/\([0-9.]*\)/\([0-9.]*\)/.*|least \1 ms, mean \2 ms, most \3 ms|p'

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

# rate FILE: what iperf3 has received, in Mb/s.
rate() { python3 -c 'import json, sys; e = json.load(open(sys.argv[1]))["end"]; print("%.1f Mb/s, %d sent again" % (e["sum_received"]["bits_per_second"] / 1e6, e["sum_sent"]["retransmits"]))' "$1"; }

for round in $(seq "$rounds"); do
	pair 1 100Mb/s 8 >"$tmp/pair.yaml"
	"$tmp/fabemu" run "$tmp/pair.yaml" --out "$tmp/out" --force >/dev/null 2>&1
	echo "round $round  fabemu  ping: $(sed -n "$ping_words" "$tmp/out/programs/ping.out")  iperf3: $(rate "$tmp/out/programs/client.out")"

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
	words=$(ip netns exec $a ping -c 100 -i 0.01 -q 10.0.0.2 | sed -n "$ping_words")
	ip netns exec $a iperf3 -c 10.0.0.2 -t 5 -J >"$tmp/htb.json"
	wait
	echo "round $round  htb     ping: $words  iperf3: $(rate "$tmp/htb.json")"
	ip netns delete $a
	ip netns delete $b

	for switches in 0 1; do
		pair $switches 10Gb/s 4 >"$tmp/pair.yaml"
		"$tmp/fabemu" run "$tmp/pair.yaml" --out "$tmp/out" --force >/dev/null 2>&1
		echo "round $round  fabemu, 10 Gb/s, $((switches + 1)) links each way: $(sed -n "$ping_words" "$tmp/out/programs/ping.out")"
	done
done
