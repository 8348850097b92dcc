#!/usr/bin/env bash
#
# The first ten minutes of a new user, with each package of a release: install it into an
# empty root, run the main job, open its report, run an example, change it, read the first
# mistake. In the root there is no other program, so a package that needs one fails here.
#
# It needs root, and of dpkg, rpm, chromium and python3 what is there; a missing one is named.
#
# Usage: scripts/first-minutes.sh [-r ROOT] [FOLDER]
#   -r ROOT  install into copies of this folder, such as one by debootstrap, instead of empty ones
#   FOLDER   of a release (default: build/release, by scripts/release.sh)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

base=
while getopts r: option; do
	case $option in
	r) base=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
folder=$(realpath -m "${1:-build/release}")
read -r version <cmd/fabemu/version.txt
arch=$(go env GOARCH)
name=fabemu-$version-linux-$arch

[ -f "$folder/$name.tar.gz" ] || { echo "first-minutes: $folder has no $name.tar.gz: run scripts/release.sh" >&2 && exit 2; }

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

fail() {
	echo "  FAILED: $*"
	failed=1
}

# inside ROOT COMMAND...: the command in the folder /home of a root, with a /proc, as the root of a user namespace.
inside() {
	local root=$1
	shift
	HOME=/home PATH=/usr/bin:/bin unshare --user --map-root-user --pid --fork --mount --mount-proc=/proc --root="$root" --wd=/home "$@"
}

# root NAME: a clean root.
root() {
	local root=$tmp/$1
	if [ -n "$base" ]; then
		cp -a "$base" "$root"
	else
		mkdir -p "$root"
	fi
	mkdir -p "$root"/{proc,tmp,home,var/lib/dpkg/{updates,info,triggers},var/lib/rpm}
	[ -f "$root/var/lib/dpkg/status" ] || touch "$root"/var/lib/dpkg/{status,available}
	echo "$root"
}

# minutes ROOT PROGRAM FILES: the steps of a user. PROGRAM and FILES, the folder of the examples, are paths in the root.
minutes() {
	local root=$1 program=$2 files=$3 out results status=0
	out=$(inside "$root" "$program" --version) || fail "--version: $out"
	[ "$out" = "fabemu version $version" ] || fail "--version prints $out"
	out=$(inside "$root" "$program" run 2>&1) || [ $? = 1 ] || fail "the main job: $out"
	results=$(sed -n 's/^Results: //p' <<<"$out")
	[ -n "$results" ] || fail "the main job names no results: $out"
	echo "  main job: $(grep -m 1 '^Verdict' <<<"$out")"
	out=$(inside "$root" "$program" report "$results" 2>&1) || fail "report: $out"
	[ -s "$root/home/$out" ] || fail "report names the page $out"
	if command -v chromium >/dev/null; then
		chromium --headless --no-sandbox --disable-gpu --user-data-dir="$tmp/browser" --dump-dom "file://$root/home/$out" 2>/dev/null >"$tmp/page"
		grep -q 'hpl2002/fig3b' "$tmp/page" || fail "the browser does not show the report"
	fi
	out=$(inside "$root" "$program" check "$files/scenarios/hpl2002/fig3b.yaml" 2>&1) || fail "the scenario of the main job: $out"
	cp "$root$files/examples/incast.yaml" "$root/home/incast.yaml" || fail "the package has no example"
	out=$(inside "$root" "$program" run incast.yaml --clock virtual 2>&1) || fail "the example: $out"
	grep -q ' PASS$' <<<"$out" || fail "the example does not pass: $out"
	sed -i 's/scheme: input-output, threshold: 6/scheme: none/' "$root/home/incast.yaml"
	out=$(inside "$root" "$program" run incast.yaml --clock virtual 2>&1) || status=$?
	[ $status = 1 ] && grep -q ' FAIL$' <<<"$out" || fail "the changed example ends with status $status: $out"
	sed -i 's/rate: 10Gb\/s, buffer/rate: 10 gigabits, buffer/' "$root/home/incast.yaml"
	status=0
	out=$(inside "$root" "$program" check incast.yaml 2>&1) || status=$?
	[ $status = 2 ] && grep -q '^fabemu: incast.yaml:[0-9]*:[0-9]*: ' <<<"$out" || fail "the mistake ends with status $status: $out"
	echo "  first mistake: $(head -n 1 <<<"$out")"
}

# wanted TOOL: whether a tool is there.
wanted() {
	command -v "$1" >/dev/null && return
	echo "  skipped: there is no $1"
	return 1
}

echo "deb"
if wanted dpkg; then
	r=$(root deb)
	if dpkg --root="$r" --log=/dev/null --force-not-root --force-bad-path --install "$folder/fabemu_$version"*"_$arch.deb" >"$tmp/log" 2>&1; then
		minutes "$r" /usr/bin/fabemu /usr/share/doc/fabemu
	else
		fail "$(cat "$tmp/log")"
	fi
fi

echo "rpm"
if wanted rpm; then
	r=$(root rpm)
	if rpm --root "$r" --install "$folder"/fabemu-"$version"*"$(uname -m).rpm" >"$tmp/log" 2>&1; then
		minutes "$r" /usr/bin/fabemu /usr/share/doc/fabemu
	else
		fail "$(cat "$tmp/log")"
	fi
fi

echo "tar.gz"
r=$(root tar)
tar -C "$r" -xzf "$folder/$name.tar.gz"
minutes "$r" "/$name/fabemu" "/$name"

echo "image"
r=$(root image)
mkdir "$tmp/layers"
tar -C "$tmp/layers" -xf "$folder/$name-image.tar"
for layer in $(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))[0]["Layers"])' "$tmp/layers/manifest.json"); do
	tar -C "$r" -xzf "$tmp/layers/$layer"
done
minutes "$r" /usr/bin/fabemu /usr/share/doc/fabemu

for wheel in "$folder"/*manylinux*"$(uname -m)"*.whl; do
	[ -f "$wheel" ] || continue
	echo "wheel"
	python3 -m venv "$tmp/venv"
	"$tmp/venv/bin/pip" install --quiet --no-index --no-deps "$wheel" || fail "pip install"
	out=$("$tmp/venv/bin/fabemu" --version) || fail "--version: $out"
	[ "$out" = "fabemu version $version" ] || fail "--version prints $out"
	(cd "$tmp" && "$tmp/venv/bin/python" -c 'import fabemu; print("  python:", fabemu.__version__)') || fail "import fabemu"
done
exit $failed
