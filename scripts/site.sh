#!/usr/bin/env bash
#
# Makes the documents into a site: plain pages that need no network and no server. Open
# index.html in a browser, or give the folder to any web server:
#
#   scripts/site.sh && python3 -m http.server -d build/site
#
# It has the documents, a search, the files that documents name, and a gallery of all
# scenarios with their fabrics and the curves of a run on the virtual clock. It needs Go,
# Python and the module goldmark. The same commit gives the same bytes.
#
# Usage: scripts/site.sh [-q] [-p PROGRAM] [FOLDER]
#   -q       quickly: no runs, so the gallery has no curves
#   -p       take this fabemu; without it one is built
#   FOLDER   default: build/site; it is replaced
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick= program=
while getopts qp: option; do
	case $option in
	q) quick=--quick ;;
	p) program=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
out=${1:-build/site}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ -z "$program" ]; then
	program=$tmp/fabemu
	CGO_ENABLED=0 go build -o "$program" ./cmd/fabemu
fi
CGO_ENABLED=0 go build -C scripts/markdown -o "$tmp/markdown" .
python3 scripts/site.py $quick "$program" "$tmp/markdown" "$out"
