#!/usr/bin/env bash
#
# Makes the files of a release: archives with a static binary for Linux, macOS and Windows,
# packages for Debian and for RPM, an image for containers, wheels for Python, the manual
# page, completions of shells, licenses, a list of all parts (SBOM), the documents as a
# site, and checksums. The version is in cmd/fabemu/version.txt and nowhere else.
#
# The same commit makes the same files, byte for byte, whatever the folder and the hour:
# times are those of the commit (or SOURCE_DATE_EPOCH).
#
# Usage: scripts/release.sh [-q] [-t "OS/ARCH..."] [FOLDER]
#   -q       quickly, for tests: the programs are built without the profile of scripts/pgo.sh and are slower,
#            packages are larger, and there is no site
#   -t       only these targets, such as "linux/amd64"
#   FOLDER   default: build/release; the files of an earlier release there are replaced
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4 # the last one whose modules can all be fetched
targets="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
# The profile is for the program's own packages: all that is hot is in them, and those of others are not
# compiled again. Its path is in the program, and in the build cache in place of its content: so it is relative, and has
# the sum of the content.
level=9 deb=xz rpm=xz site=yes
pgo=build/$(sha256sum <scripts/virtual.pgo | cut -c 1-16).pgo
mkdir -p build
[ -e "$pgo" ] || ln -sf ../scripts/virtual.pgo "$pgo"
profile=(-gcflags "fabemu/...=-pgoprofile=$pgo")
while getopts qt: option; do
	case $option in
	q) profile=() level=1 deb=none rpm=gzip:1 site= ;;
	t) targets=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
read -r version <cmd/fabemu/version.txt
out=${1:-build/release}
tags=$(git tag --points-at HEAD 'v*' 2>/dev/null || true)
if [ -n "$tags" ] && ! grep -qxF "v$version" <<<"$tags"; then
	echo "release: the commit has the tag $tags, and cmd/fabemu/version.txt has $version: make them agree" >&2
	exit 2
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# binary OS/ARCH: the path of a binary.
binary() {
	local suffix=
	[ "${1%/*}" != windows ] || suffix=.exe
	echo "$tmp/bin/${1/\//-}/fabemu$suffix"
}

# build OS/ARCH: a static binary.
build() {
	GOOS=${1%/*} GOARCH=${1#*/} go build "${profile[@]}" -trimpath -buildvcs=false -ldflags "-s -w -buildid=" -o "$(binary "$1")" ./cmd/fabemu
}

# pack FOLDER OF NAME: an archive in FOLDER of OF/NAME, the same for the same files.
pack() {
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$2" -cf - "$3" | gzip "-n$level" >"$1/$3.tar.gz"
}

# package ARCH BINARY: packages for Debian and for RPM.
package() {
	local format
	cat >"$tmp/nfpm.yaml" <<-END
		name: fabemu
		version: $version
		arch: $1
		maintainer: The fabemu developers <fabemu@localhost>
		section: net
		license: Apache-2.0
		description: |-
		  emulator of lossless fabrics on real sockets
		  Endpoints and switches run by themselves and send framed packets over real
		  sockets, with the flow control of InfiniBand or Ethernet and the congestion
		  control of both; on a virtual clock, too.
		suggests: [wireshark]
		deb: {compression: $deb}
		rpm: {compression: "$rpm", buildhost: localhost}
		contents:
		  - {src: $2, dst: /usr/bin/fabemu, file_info: {mode: 0755}}
		  - {src: "$common/man/*", dst: /usr/share/man/man1, file_info: {mode: 0644}}
		  - {src: $common/completion.bash, dst: /usr/share/bash-completion/completions/fabemu, file_info: {mode: 0644}}
		  - {src: $common/completion.zsh, dst: /usr/share/zsh/vendor-completions/_fabemu, file_info: {mode: 0644}, packager: deb}
		  - {src: $common/completion.zsh, dst: /usr/share/zsh/site-functions/_fabemu, file_info: {mode: 0644}, packager: rpm}
		  - {src: $common/completion.fish, dst: /usr/share/fish/vendor_completions.d/fabemu.fish, file_info: {mode: 0644}}
		  - {src: $common/copyright, dst: /usr/share/doc/fabemu/copyright, file_info: {mode: 0644}}
		  - {src: "$common/examples/*", dst: /usr/share/doc/fabemu/examples}
		  - {src: $common/scenarios, dst: /usr/share/doc/fabemu/scenarios, type: tree}
	END
	for format in deb rpm; do
		go run "$nfpm" package -f "$tmp/nfpm.yaml" -p "$format" -t "$out" >/dev/null
	done
}

echo "release: $version into $out"
mkdir -p "$out"
if [ -f "$out/SHA256SUMS" ]; then # it names the files of an earlier release
	(cd "$out" && sed 's/^[0-9a-f]*  //' SHA256SUMS | grep -v / | tr '\n' '\0' | xargs -0 rm -f -- SHA256SUMS)
fi

host=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
built=()
for target in $targets; do
	echo "+ build $target"
	build "$target"
	built+=("$target=$(binary "$target")")
done
[ -f "$(binary "$host")" ] || build "$host"
program=$(binary "$host")

# The files that all packages have in common.
common=$tmp/common
mkdir -p "$common/examples"
"$program" man --out "$common/man"
gzip -9n "$common"/man/*.1
for shell in bash zsh fish powershell; do
	"$program" completion "$shell" >"$common/completion.$shell"
done
"$program" licenses >"$common/licenses.txt"
cat LICENSE "$common/licenses.txt" >"$common/copyright"
find docs/examples -maxdepth 1 -type f ! -name '*.svg' -exec install -m 644 -t "$common/examples" {} +
chmod 755 "$common"/examples/*.py
install -m 644 docs/scenario.schema.json "$common/examples"
sed -i 's|\$schema=\.\./|$schema=|' "$common"/examples/*.yaml
for file in emu/scenario/builtin/*/*.yaml; do # to be changed: they are in the program, too
	install -D -m 644 "$file" "$common/scenarios/${file#emu/scenario/builtin/}"
done
find "$common" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +

for target in $targets; do
	echo "+ package $target"
	name=fabemu-$version-${target/\//-} file=$(binary "$target")
	mkdir -p "$tmp/archives/$name"
	cp -r "$file" "$common"/{examples,scenarios,completion.*,man,licenses.txt} LICENSE NOTICE "$tmp/archives/$name"
	pack "$out" "$tmp/archives" "$name"
	if [ "${target%/*}" = linux ]; then
		package "${target#*/}" "$file"
		python3 scripts/release-image.py "$version" "${target#*/}" "$file" "$common" "$level" "$out/$name-image.tar"
	fi
	[ ! -f python/wheel.py ] || python3 python/wheel.py "$version" "$target" "$file" "$out" "$level"
done
cp "$common"/{man/*.1.gz,completion.*} "$out"
cp "$common/licenses.txt" "$out/fabemu-licenses.txt"
python3 scripts/release-sbom.py "$version" "$common/licenses.txt" "${built[@]}" >"$out/fabemu-$version.cdx.json"
if [ -n "$site" ]; then
	echo "+ site"
	scripts/site.sh -p "$program" "$tmp/site/fabemu-$version-docs"
	pack "$out" "$tmp/site" "fabemu-$version-docs"
fi
(cd "$out" && LC_ALL=C sha256sum -- fabemu* completion.* | tee SHA256SUMS)
