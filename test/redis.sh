#!/usr/bin/env bash
# Rate limits that replicas share, on real Redis servers that the tests start on unix sockets, kill, and start again.
# TEST_REDIS_SERVER names another program, such as valkey-server.
. "$(dirname "$0")/lib.sh"
cd "$root"
need "${TEST_REDIS_SERVER:-redis-server}" redis-server
go test -tags redis -count=1 -timeout 10m "$@" ./internal/ratelimit/redis ./test/redis
