#!/usr/bin/env bash
#
# Our TCP compared with the kernel's over the same bottleneck. The kernel's is Reno of Linux in
# three network namespaces, over veth pairs and a qdisc (tbf, with bfifo or RED), segments as
# frames (no GSO, TSO, GRO), with TCP_INFO sampled each millisecond; ours is a flow of a
# fabric on the wall clock at dilation 1. It prints throughput, the period of the window's
# sawtooth, segments sent again and what the queue dropped, and fails where they are too far
# apart. docs/notes/validation.md has the results.
#
# Usage: scripts/lab/tcp-kernel.sh [-l LENGTH]
#
#   -l LENGTH  of each run (default 60s)
#   -h         this text
#
# It needs root, and iproute2. What it makes is removed, whatever happens; after kill -9,
# "fabemu cleanup" does it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

usage() {
	sed -n '/^# Usage:/,/^#   -h /p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'
}

length=60s
while getopts 'l:h' option; do
	case $option in
	l) length=$OPTARG ;;
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
if [ $# -gt 0 ]; then
	usage >&2
	exit 2
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "tcp-kernel: not root: network namespaces need it" >&2
	exit 1
fi
if ! { command -v ip && command -v tc; } >/dev/null; then
	echo "tcp-kernel: there is no ip or no tc command: install iproute2" >&2
	exit 1
fi
exec go test -tags timing -count=1 -timeout 2h -run '^TestWallTCPBesideTheKernel$' -v ./scripts/measure -args -tcp.length "$length"
