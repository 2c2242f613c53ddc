#!/usr/bin/env bash
# Rate limits that replicas share, on real Redis servers that the tests start on unix sockets, kill, and start again.
# TEST_REDIS_SERVER names another program, such as valkey-server.
set -euo pipefail
cd "$(dirname "$0")/.."
server=${TEST_REDIS_SERVER:-redis-server}
if ! command -v "$server" >/dev/null 2>&1 && [ "$server" = redis-server ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing Redis (apt-get install redis-server)"
  apt-get update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends redis-server >/dev/null
fi
command -v "$server" >/dev/null 2>&1 || { echo "FAILED: $server is missing: run 'apt-get install redis-server' or 'brew install redis' and run this again" >&2; exit 1; }
exec go test -tags redis -count=1 -timeout 10m "$@" ./internal/ratelimit/redis ./test/redis
