#!/bin/sh
# The random tests with many more seeds than in a usual run, other ones every day.
set -eu
cd "$(dirname "$0")/.."
seed=${STREAMSQL_SEED:-$(($(date +%Y%m%d) * 100000))}
run() {
	echo "== $*"
	STREAMSQL_SEED=$seed go test -tags streamsqltest -count 1 -timeout 60m "$@"
}
STREAMSQL_QUERIES=20000 run ./tests/sql -run '^TestRandom(Queries|Limits)$'
STREAMSQL_QUERIES=5000 run ./tests/sql -run '^TestRandomWindows$'
STREAMSQL_FLIPS=1000 STREAMSQL_ORPHANS=300 STREAMSQL_WINDOWS=3000 run ./tests/sql -run '^Test(OneBit|UpsertOrphans|KeyChurn)$'
run ./internal/runtime/sim -run '^TestSimulation$' -sim.count=20000
for _ in 1 2 3 4 5; do
	go test -tags streamsqltest -count 1 -timeout 60m ./tests/crash -run '^TestKilled'
done
