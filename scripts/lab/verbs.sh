#!/usr/bin/env bash
#
# RDMA programs on a fabric, without an RDMA adapter: virtual machines with Debian's kernel and rdma_rxe, its adapter in
# software. docs/guide/rdma.md describes them.
#
# Usage: scripts/lab/verbs.sh build
#        scripts/lab/verbs.sh vm TAP ADDRESS COMMANDS
#
#   build  downloads Debian packages with apt-get, unpacks them in a cache, and makes a kernel and an initramfs of them.
#          It installs nothing and needs no root. It takes half a minute, and 85 MB from the Debian mirror of this machine
#   vm     boots a virtual machine at TAP, the interface of a guest {vm: TAP} of a running fabric. Its eth0 has an ADDRESS
#          such as 10.1.0.1/24, and rxe0 is its RDMA device. It runs COMMANDS of a shell up to the first that fails, and
#          ends with its status. The console is the standard output. There are also these commands:
#              retry COMMAND...  repeats a command each second, up to 100 times, until it succeeds
#              counters          prints the counters of rxe0, once they have been the same for ten seconds
#
# Variables:
#
#   VERBS_CACHE     the cache (default: fabemu/verbs in $XDG_CACHE_HOME or ~/.cache)
#   VERBS_KVM       off: build for emulated virtual machines, even if KVM is usable
#   VERBS_PACKAGES  further Debian packages whose programs virtual machines have, such as 'mpich netpipe-mpich2'
#   VERBS_TIMEOUT   seconds after which a virtual machine is stopped (default: 600)
set -euo pipefail

self=$(realpath "${BASH_SOURCE[0]}")
cache=${VERBS_CACHE:-${XDG_CACHE_HOME:-${HOME:?there is no home folder: set VERBS_CACHE}/.cache}/fabemu/verbs}
packages="perftest ibverbs-utils ibverbs-providers rdmacm-utils ucx-utils iproute2 busybox-static ${VERBS_PACKAGES:-}"
modules='virtio_pci virtio_net qemu_fw_cfg crc32_generic rdma_rxe rdma_ucm'

usage() { sed -n '/^# Usage:/,/^set /{/^set /d; s/^# \{0,1\}//p}' "$self"; }

fail() {
	echo "verbs: $*" >&2
	exit 1
}

# need PROGRAM PACKAGE
need() { command -v "$1" >/dev/null || fail "there is no $1 on this machine: install it (Debian: apt-get install $2)"; }

# get ARGUMENTS: apt-get as of a system without packages, with all its files in the folder of the build.
get() {
	apt-get -qq -y -o Dir::State::status="$work/status" -o Dir::Cache="$work/apt" -o Debug::NoLocking=1 \
		-o APT::Sandbox::User=root -o APT::Architecture=amd64 --no-install-recommends "$@" ||
		fail "apt-get cannot get Debian's packages: run apt-get update as root, and check that the sources of this machine have $packages"
}

# init: the first program of the virtual machine.
init() {
	sed "s/MODULES/$modules/" <<-'END'
		#!/bin/busybox sh
		/bin/busybox --install -s /bin
		export PATH=/bin:/usr/bin HOME=/
		mount -t proc none /proc && mount -t sysfs none /sys && mount -t devtmpfs none /dev
		given=/sys/firmware/qemu_fw_cfg/by_name/opt/verbs
		retry() {
			for n in $(seq 100); do
				"$@" && return
				sleep 1
			done
			echo "verbs: in vain: $*"
			return 1
		}
		counters() ( # once no packet has come or gone for ten seconds: the connection manager repeats after 4.3
			cd /sys/class/infiniband/rxe0/ports/1/hw_counters
			while was=${now:-} now=$(cat *_pkts) && [ "$was" != "$now" ]; do sleep 10; done
			grep . *
		)
		end() { # the status and 1 go to the port where scripts/lab/verbs.sh expects them
			echo "verbs: status $1"
			printf "\\$(printf %o $(($1 + 1)))" | dd of=/dev/port bs=1 seek=244 2>/dev/null
			poweroff -f
		}
		modprobe -a MODULES && ip link set lo up && ip addr add "$(cat $given/address/raw)" dev eth0 && ip link set eth0 up &&
			rdma link add rxe0 type rxe netdev eth0 || end 119
		echo "verbs: Linux $(uname -r) is up after $(cut -d ' ' -f 1 /proc/uptime) s"
		cat $given/run/raw >/run
		(set -e && . /run)
		end $?
	END
}

build() {
	local kernel release file loader path began
	[ "$(uname -sm)" = 'Linux x86_64' ] || fail "this machine is $(uname -sm): only Linux x86_64 is supported"
	need apt-get apt
	need dpkg-deb dpkg
	need qemu-system-x86_64 qemu-system-x86
	mkdir -p "$cache" || fail "$cache cannot be made: set VERBS_CACHE to another folder"
	cd "$cache"
	exec 9>lock
	flock 9
	work=$cache/new
	rm -rf "$work"
	mkdir -p "$work"/apt/archives/partial "$work"/{debian,linux,tree}/usr/{bin,sbin,lib,lib64} "$work"/tree/{dev,proc,sys,tmp,etc/libibverbs.d}
	cd "$work"
	: >status
	for path in bin sbin lib lib64; do
		for file in debian linux tree; do ln -s "usr/$path" "$file"; done
	done
	kernel=$(apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p')
	[ -n "$kernel" ] || fail "apt has no linux-image-amd64, the kernel of Debian: run apt-get update as root, or run this in a container of Debian"
	# shellcheck disable=SC2086 # a list
	{
		get install --print-uris $packages
		get download --print-uris "$kernel"
		sha256sum "$self"
	} >sources
	if cmp -s sources ../sources; then
		rm -rf "$work"
		echo "verbs: $cache is up to date"
		return
	fi
	echo "verbs: download $kernel, $packages and their libraries"
	# shellcheck disable=SC2086 # a list
	get install --download-only $packages
	get download "$kernel"

	echo "verbs: unpack"
	for file in apt/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$file" | tar --keep-directory-symlink --no-same-owner -C debian -xf -
	done
	dpkg-deb --fsys-tarfile linux-image-*.deb | tar --keep-directory-symlink --no-same-owner -C linux -xf - --wildcards \
		'./boot/vmlinuz*' '*/modules.*' '*/kernel/net/*' '*/kernel/drivers/net/*net*.ko*' \
		'*/kernel/'{crypto,lib,fs/configfs,drivers/{infiniband,virtio,firmware}}/'*'

	echo "verbs: pack"
	release=$(ls linux/lib/modules)
	debian/bin/busybox depmod -b "$PWD/linux" "$release"
	for file in $modules; do
		grep -E "/$file\.ko[.a-z]*:" "linux/lib/modules/$release/modules.dep" || fail "$kernel has no module $file"
	done | tr -d : | tr ' ' '\n' | sort -u >needed
	mkdir -p "tree/lib/modules/$release"
	tar -C "linux/lib/modules/$release" -cf - -T needed | tar -C "tree/lib/modules/$release" -xf -
	find tree -name '*.ko.xz' -exec xz -d {} +
	debian/bin/busybox depmod -b "$PWD/tree" "$release"
	loader=$(find debian -name 'ld-linux-*' -type f)
	path=$(find debian/usr/lib -name '*.so.*' -printf '%h\n' | sort -u | paste -sd :)
	{
		printf '%s\n' debian/usr/{bin,sbin}/{ip,rdma} debian/usr/bin/{ib_,ibv_,rping,ucx_perftest}* \
			debian/usr/lib/*/{libibverbs/librxe-*,ucx/libuct_ib.so.0,libgcc_s.so.1}
		for file in ${VERBS_PACKAGES:-}; do
			dpkg-deb --fsys-tarfile apt/archives/"$file"_*.deb | tar -t | sed -n 's|^\.\(/usr/s*bin/..*\)|debian\1|p'
		done
	} | while read -r file; do
		[ -f "$file" ] || continue
		echo "$file"
		{ "$loader" --library-path "$path" --list "$file" 2>/dev/null || :; } | sed -n 's/.* => \(debian[^ ]*\) .*/\1/p' # a script has none
	done | sort -u >needed
	while read -r file; do
		mkdir -p "tree/$(dirname "${file#debian/}")"
		cp -L "$file" "tree/${file#debian/}"
	done <needed
	cp debian/bin/busybox tree/bin/
	cp "$loader" tree/lib64/
	cp debian/etc/libibverbs.d/rxe.driver tree/etc/libibverbs.d/
	init >tree/init
	chmod +x tree/init
	(cd tree && find . | ../debian/bin/busybox cpio -o -H newc) >initramfs 2>cpio.log || fail "$(cat cpio.log)"
	cp linux/boot/vmlinuz-* vmlinuz
	mv -f initramfs vmlinuz ..
	echo "verbs: boot"
	began=$SECONDS
	echo tcg >../accelerator
	mac=52:54:00:00:00:01
	if [ "${VERBS_KVM:-}" != off ] && [ -w /dev/kvm ] && boots kvm 20 192.0.2.1/24 '' user,id=n >/dev/null 2>&1; then
		echo kvm >../accelerator
	else
		echo "verbs: no usable KVM here, so virtual machines are emulated"
		boots tcg 300 192.0.2.1/24 ibv_devinfo user,id=n || fail "the virtual machine did not boot: its console is above"
	fi
	mv -f sources ..
	cd ..
	rm -rf "$work"
	echo "verbs: $kernel is in $cache after $SECONDS s; a virtual machine boots in $((SECONDS - began)) s"
}

# boot ACCELERATOR SECONDS ADDRESS COMMANDS OPTION...: runs a virtual machine. Its status is 2 (S+1) + 1 for a status S of
# the commands, because QEMU makes that of what the virtual machine writes. There is room for a second processor because
# without it QEMU's emulation leaves out the memory barriers of the locked instructions by which the kernel orders its
# accesses to virtio's queues. QEMU's thread of devices runs on another processor of the host all the same, and misses
# packets: eth0 then sends nothing more.
boot() {
	timeout -k 5 "$2" qemu-system-x86_64 -M pc -accel "$1" -cpu "$([ "$1" = kvm ] && echo host || echo qemu64)" -smp 1,maxcpus=2 -m 256 -nodefaults -no-user-config -no-reboot -display none \
		-serial stdio -device isa-debug-exit,iobase=0xf4,iosize=1 -kernel "$cache/vmlinuz" -initrd "$cache/initramfs" \
		-append 'console=ttyS0 quiet mitigations=off no_timer_check panic=-1' -fw_cfg "name=opt/verbs/address,string=$3" \
		-fw_cfg "name=opt/verbs/run,string=${4//,/,,}" -device virtio-net-pci,netdev=n,romfile=,host_ufo=off,mac="$mac" \
		-netdev "${@:5}" </dev/null
}

# boots ARGUMENTS of boot: whether the commands succeed.
boots() {
	local status=0
	boot "$@" || status=$?
	[ $status = 3 ]
}

vm() {
	local status=0
	need qemu-system-x86_64 qemu-system-x86
	[ -f "$cache/sources" ] || fail "there is no kernel in $cache: run $self build"
	[ -e "/sys/class/net/$1" ] || fail "there is no interface $1: run this while a fabric with guest: {vm: $1} runs"
	[[ "$2" =~ ^([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9]+)/[0-9]+$ ]] || fail "$2 is not an address such as 10.1.0.1/24"
	mac=$(printf '52:54:%02x:%02x:%02x:%02x' "${BASH_REMATCH[@]:1}")
	boot "$(cat "$cache/accelerator")" "${VERBS_TIMEOUT:-600}" "$2" "$3" "tap,id=n,ifname=$1,script=no,downscript=no" || status=$?
	case $status in
	124 | 137) fail "the virtual machine was stopped after ${VERBS_TIMEOUT:-600} s: if its console shows that it only needed longer, set VERBS_TIMEOUT" ;;
	0 | 1 | 2) fail "QEMU ended without a status of the commands: see the console and the errors above" ;;
	esac
	exit $((status / 2 - 1))
}

case ${1:-}:$# in
build:1) build ;;
vm:4) vm "$2" "$3" "$4" ;;
-h:1 | --help:1) usage ;;
*)
	usage >&2
	exit 2
	;;
esac
