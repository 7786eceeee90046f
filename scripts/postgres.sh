#!/bin/sh
# Makes sure that PostgreSQL's server programs are on this machine: finds them, or
# installs them with the system's package manager. Prints the directory.
set -eu

find_bin() {
	p=$(command -v initdb 2>/dev/null || true)
	if [ -n "$p" ]; then
		d=$(dirname "$(readlink -f "$p")")
		[ -x "$d/postgres" ] && echo "$d" && return 0
	fi
	for d in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
		/opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /usr/local/pgsql/bin; do
		[ -x "$d/initdb" ] && found=$d
	done
	[ -n "${found:-}" ] && echo "$found"
}

find_bin && exit 0

as_root() {
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

echo "PostgreSQL is not installed; installing it with the system's package manager" >&2
if command -v apt-get >/dev/null; then
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends postgresql >&2
elif command -v dnf >/dev/null; then
	as_root dnf install -qy postgresql-server >&2
elif command -v apk >/dev/null; then
	as_root apk add -q postgresql >&2
elif command -v pacman >/dev/null; then
	as_root pacman -S --noconfirm postgresql >&2
elif command -v zypper >/dev/null; then
	as_root zypper -n install postgresql-server >&2
elif command -v brew >/dev/null; then
	brew install postgresql@16 >&2
else
	echo "no known package manager: install PostgreSQL's server programs (initdb, postgres) and run this again" >&2
	exit 1
fi
find_bin || { echo "PostgreSQL was installed, but initdb was not found" >&2; exit 1; }
