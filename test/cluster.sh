#!/usr/bin/env bash
# Three replicas of bin/consign on one Postgres, one S3 (versitygw) and one Redis behind Caddy: what they share, and a rolling restart
# under load. Prints figures.
. "$(dirname "$0")/lib.sh"
cd "$root"
need caddy caddy
need "${TEST_REDIS_SERVER:-redis-server}" redis-server
[ -x bin/consign ] || make -s build
start_s3
go test -tags campaign -count=1 -timeout 20m -v -run '^TestCluster|^TestRollingRestart$' "$@" ./test/campaign
