#!/usr/bin/env bash
#
# Makes what is given to users: static binaries for Linux, macOS and Windows, Debian
# packages, the manual page, the licenses of what is in the binaries, what completes
# commands in shells, and checksums.
#
# The same commit makes the same files, byte for byte, whatever the folder and the hour:
# times are those of the commit (or SOURCE_DATE_EPOCH).
#
# Usage: scripts/release.sh [-q] [-t "OS/ARCH..."] [VERSION [FOLDER]]
#   -q       quickly, for tests: the programs are built without the profile of scripts/pgo.sh and are slower,
#            packages are larger
#   -t       only these targets, such as "linux/amd64"
#   VERSION  default: what git describe says
#   FOLDER   default: build/release; what a release has made there before is replaced
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets="linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64"
# The profile is for the program's own packages: all that is hot is in them, and those of others are not
# compiled anew.
compression=(-Zxz)
profile=(-gcflags "fabemu/...=-pgoprofile=$PWD/scripts/virtual.pgo")
while getopts qt: option; do
	case $option in
	q) profile=() compression=(-Zxz -z1) ;;
	t) targets=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
version=${1:-$(git describe --tags --always --dirty)}
out=${2:-build/release}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# build OS ARCH FILE: a static binary.
build() {
	GOOS=$1 GOARCH=$2 go build "${profile[@]}" -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.release=$version" -o "$3" ./cmd/fabemu
}

# package ARCH BINARY: a Debian package. Its version begins with a digit, as dpkg wants.
package() {
	local root=$tmp/root-$1 number=${version#v}
	case $number in
	[0-9]*) ;;
	*) number=0~$number ;;
	esac
	number=${number//-/+}
	install -D -m 755 "$2" "$root/usr/bin/fabemu"
	install -D -m 644 "$out/fabemu.1.gz" "$root/usr/share/man/man1/fabemu.1.gz"
	install -D -m 644 "$out/completion.bash" "$root/usr/share/bash-completion/completions/fabemu"
	install -D -m 644 "$out/completion.zsh" "$root/usr/share/zsh/vendor-completions/_fabemu"
	install -D -m 644 "$out/completion.fish" "$root/usr/share/fish/vendor_completions.d/fabemu.fish"
	install -D -m 644 /dev/null "$root/usr/share/doc/fabemu/copyright"
	cat LICENSE "$out/fabemu-licenses.txt" >"$root/usr/share/doc/fabemu/copyright"
	mkdir -p "$root/DEBIAN"
	(cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
	cat >"$root/DEBIAN/control" <<-END
		Package: fabemu
		Version: $number
		Architecture: $1
		Maintainer: The fabemu developers <fabemu@localhost>
		Installed-Size: $(du -k --apparent-size -s "$root/usr" | cut -f1)
		Section: net
		Priority: optional
		Suggests: wireshark, tshark
		Description: emulator of lossless fabrics on real sockets
		 Endpoints and switches run by themselves and send framed packets over real
		 sockets, with the flow control of InfiniBand or Ethernet and the congestion
		 control of both; on a virtual clock, too.
	END
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group "${compression[@]}" --build "$root" "$out/fabemu_${number}_$1.deb" >/dev/null
}

echo "release: $version into $out"
mkdir -p "$out"
if [ -f "$out/SHA256SUMS" ]; then # what it names is of a release before
	(cd "$out" && sed 's/^[0-9a-f]*  //' SHA256SUMS | grep -v / | tr '\n' '\0' | xargs -0 rm -f -- SHA256SUMS)
fi

host=$(go env GOHOSTOS)/$(go env GOHOSTARCH) program=
for target in $targets; do
	file=$out/fabemu-$version-${target/\//-}
	[ "${target%/*}" != windows ] || file=$file.exe
	echo "+ build $target"
	build "${target%/*}" "${target#*/}" "$file"
	[ "$target" != "$host" ] || program=$file
done
if [ -z "$program" ]; then
	program=$tmp/fabemu
	build "${host%/*}" "${host#*/}" "$program"
fi
"$program" man | gzip -9n >"$out/fabemu.1.gz"
"$program" licenses >"$out/fabemu-licenses.txt"
for shell in bash zsh fish powershell; do
	"$program" completion "$shell" >"$out/completion.$shell"
done
for target in $targets; do
	[ "${target%/*}" != linux ] || package "${target#*/}" "$out/fabemu-$version-${target/\//-}"
done
(cd "$out" && LC_ALL=C sha256sum -- fabemu* completion.* | tee SHA256SUMS)
