#!/bin/sh
# Runs the tests of Go packages in a QEMU guest with cgroup v2 alone:
#   run.sh MODULE-DIRECTORY go-test-arguments…
# Fetches QEMU and a kernel from Debian's packages unless they are there. The
# kernel is unpacked, not installed. Everything that cannot be had is an error.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
module=$1
shift
cache=${BERTH_VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/berth-vm}
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if ! command -v qemu-system-x86_64 >/dev/null || [ ! -s "$cache/vmlinuz" ]; then
	apt-get update -q >"$tmp/apt.log" 2>&1 || { cat "$tmp/apt.log"; exit 1; }
fi
if ! command -v qemu-system-x86_64 >/dev/null; then
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends qemu-system-x86 >"$tmp/apt.log" 2>&1 || { cat "$tmp/apt.log"; exit 1; }
fi
if [ ! -s "$cache/vmlinuz" ]; then
	kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/{print $2; exit}')
	[ -n "$kernel" ] || { echo "no kernel package"; exit 1; }
	(
		cd "$tmp"
		apt-get download "$kernel" >apt.log 2>&1 || { cat apt.log; exit 1; }
		dpkg-deb --fsys-tarfile "$kernel"_*.deb | tar -xO --wildcards './boot/vmlinuz-*' >vmlinuz
		[ -s vmlinuz ] || { echo "no kernel in $kernel"; exit 1; }
		mv vmlinuz "$cache/vmlinuz"
	)
fi
flock -u 9
export CGO_ENABLED=0 VMTEST_KERNEL="$cache/vmlinuz"
(cd "$here" && go build -trimpath -ldflags='-s -w' -o "$tmp/vmtest" main.go)
cd "$module"
go test -p 1 -count=1 -exec "$tmp/vmtest" "$@"
