#!/usr/bin/env bash
# Tests three replicas of bin/consign behind Caddy with one Postgres, one S3 server (versitygw) and one Redis: shared state, shared
# rate limits, a rolling restart under load, and what one and three replicas carry. Prints measurements.
. "$(dirname "$0")/lib.sh"
cd "$root"
need caddy caddy
need "${TEST_REDIS_SERVER:-redis-server}" redis-server
[ -x bin/consign ] || make -s build
start_s3
go test -tags campaign -count=1 -timeout 20m -v -run '^TestCluster|^TestRollingRestart$' "$@" ./test/campaign
