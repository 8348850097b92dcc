#!/usr/bin/env bash
#
# A fabric in network namespaces, looked at from outside: what a user would do by
# hand, with ip and with kill -9. CI runs it, and so does the box of the Vagrantfile.
#
#   namespace            namespace          namespace
#   fabemu-ID-sender     fabemu-ID-S        fabemu-ID-receiver
#
#   sender [fab0]--------[fab0] S [fab2]--------[fab0] receiver
#                               S [fab1]--+
#   namespace                             |
#   fabemu-ID-other      other [fab0]-----+
#
# Each line is a veth pair: sender and other send to receiver over the switch S.
#
# It prints what it runs, and ends with status 0 if all is as it should be. It
# removes what it made, whatever happens.
#
# Usage: scripts/smoke-netns.sh [FABEMU]
#
#   FABEMU  the binary (default: built from this tree)
#
# It needs root, and iproute2.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ "$(id -u)" -ne 0 ]; then
	echo "smoke: not root: network namespaces need it" >&2
	exit 1
fi
if ! command -v ip >/dev/null; then
	echo "smoke: there is no ip command: install iproute2" >&2
	exit 1
fi

tmp=$(mktemp -d)
started=()
# The namespace that is none of fabemu's, and must survive.
foreign=fabemu-lab-$$

cleanup() {
	local pid
	for pid in "${started[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	if [ -x "$tmp/fabemu" ]; then
		"$tmp/fabemu" cleanup >/dev/null || true
	fi
	ip netns delete "$foreign" 2>/dev/null || true
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# run COMMAND...: says what it runs, and runs it.
run() {
	echo "+ $*"
	"$@"
}

fail() {
	echo "smoke: $*" >&2
	exit 1
}

# await SECONDS COMMAND...: waits until a command succeeds.
await() {
	local n=$(($1 * 20))
	shift
	until "$@"; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || fail "waited in vain for: $*"
		sleep 0.05
	done
}

# of PID: the id of the run that a process has made, from its lock.
of() { grep -l "process $1 " /run/fabemu/* 2>/dev/null | sed 's|.*/||'; }
has_id() { [ -n "$(of "$1")" ]; }
namespaces() { ip netns list | sed 's/ .*//' | grep -c "^fabemu-$1-" || true; }
has_namespaces() { [ "$(namespaces "$1")" = "$2" ]; }
is_up() { ip -n "$1" link show "$2" 2>/dev/null | grep -q 'state UP'; }

if [ $# -gt 0 ]; then
	install -m 755 "$1" "$tmp/fabemu"
else
	(cd "$top" && run go build -o "$tmp/fabemu" ./cmd/fabemu)
fi
cd "$tmp"
cat >fabric.yaml <<'END'
name: fabric
model: {duration: 10ms}
wall: {dilation: 100}
defaults: {link: {rate: 1GB/s, buffer: 4 packets}}
switches: {S: {}}
endpoints: [sender, other, receiver]
links: [sender - S, other - S, S - receiver]
flows:
  - {name: first, from: sender, to: receiver}
  - {name: second, from: other, to: receiver}
expect:
  - {id: full, claim: the link to the receiver is full, metric: S-receiver.utilisation, during: [1ms, 10ms], low: 0.95, high: 1.01}
END

echo "== a run over veth pairs: its events are those of the virtual clock"
run ./fabemu run fabric.yaml --link veth --verify on --out over-veth
grep -q '"verify": "equal"' over-veth/result.json || fail "the log is not that of the virtual clock"
grep -q '"link": "veth"' over-veth/result.json || fail "the result does not say veth"

echo "== what ip shows of an active run"
run ip netns add "$foreign"
echo "+ ./fabemu run fabric.yaml --link veth --dilation 40000 &"
./fabemu run fabric.yaml --link veth --dilation 40000 --out slow >slow.log 2>&1 &
slow=$!
started+=("$slow")
await 120 has_id "$slow"
id=$(of "$slow")
await 120 has_namespaces "$id" 4
await 120 is_up "fabemu-$id-S" fab2
run ip netns list
run ip -n "fabemu-$id-S" -d link show
ip -n "fabemu-$id-S" link show fab2 | grep -q "alias fabemu run $id process $slow .*: link .* to receiver" || fail "fab2 of S has no label"

echo "== another run beside it is killed: what it leaves is listed and removed, nothing else"
echo "+ ./fabemu run fabric.yaml --link veth --dilation 40000 &"
./fabemu run fabric.yaml --link veth --dilation 40000 --out killed >killed.log 2>&1 &
killed=$!
started+=("$killed")
await 120 has_id "$killed"
dead=$(of "$killed")
await 120 has_namespaces "$dead" 4
run kill -9 "$killed"
wait "$killed" 2>/dev/null || true
run ./fabemu cleanup | tee cleanup.log
grep -q "run $dead is dead" cleanup.log || fail "the dead run is not listed"
grep -q "run $id is running as process $slow and was not touched" cleanup.log || fail "the run that lives is not listed"
has_namespaces "$dead" 0 || fail "something of the dead run is left"
has_namespaces "$id" 4 || fail "the run that lives has lost namespaces"
ip netns list | grep -q "^$foreign" || fail "a foreign namespace is gone"

echo "== an interrupt ends the other, and takes its namespaces along"
run kill -INT "$slow"
wait "$slow" && status=0 || status=$?
[ "$status" = 3 ] || fail "an interrupted run has status $status, want 3: $(cat slow.log)"
has_namespaces "$id" 0 || fail "something of the interrupted run is left"
run ./fabemu cleanup

echo "smoke: ok"
