#!/bin/sh
# A minute of each fuzz target.
set -eu
cd "$(dirname "$0")/.."
grep -rl "^func Fuzz" --include="*_test.go" . | while read -r f; do
	dir=$(dirname "$f")
	sed -n "s/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p" "$f" | while read -r name; do
		echo "== $dir $name"
		go test "$dir" -run "^$" -fuzz "^$name\$" -fuzztime "${FUZZTIME:-60s}"
	done
done
