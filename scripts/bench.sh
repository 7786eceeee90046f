#!/bin/sh
# The benchmarks: scripts/bench for whole jobs, then the packages' own.
set -eu
cd "$(dirname "$0")/.."
go run ./scripts/bench "$@"
echo
echo "== packages"
go test -run "^$" -bench . -benchtime 1s ./internal/cell ./checkpoint/state ./connectors/format ./operators
