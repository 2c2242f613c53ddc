#!/usr/bin/env bash
# Tests the rate limits that replicas share in Redis. The tests start real Redis servers on unix sockets, kill them and restart them.
# TEST_REDIS_SERVER selects another server program, such as valkey-server.
. "$(dirname "$0")/lib.sh"
cd "$root"
need "${TEST_REDIS_SERVER:-redis-server}" redis-server
go test -tags redis -count=1 -timeout 10m "$@" ./internal/ratelimit/redis ./test/redis
