#!/bin/sh
# Makes sure that the pooler of the tests is on this machine: finds pgbouncer, or installs
# it with the system's package manager. Prints its path.
set -eu

find_it() {
	PATH=$PATH:/usr/sbin:/usr/local/sbin:/opt/homebrew/bin command -v pgbouncer
}

find_it && exit 0

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

echo "pgbouncer is not installed; installing it with the system's package manager" >&2
if command -v apt-get >/dev/null; then
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends pgbouncer >&2
elif command -v dnf >/dev/null; then
	as_root dnf install -qy pgbouncer >&2
elif command -v apk >/dev/null; then
	as_root apk add -q pgbouncer >&2
elif command -v zypper >/dev/null; then
	as_root zypper -n install pgbouncer >&2
elif command -v brew >/dev/null; then
	brew install pgbouncer >&2
else
	echo "no known package manager has pgbouncer: install it and run this again" >&2
	exit 1
fi
find_it || { echo "pgbouncer was installed, but was not found" >&2; exit 1; }
