#!/usr/bin/env bash
# Tests Dockerfile, compose.yaml and its variants in contrib/compose without a container engine, as docker compose merges them. Builds the
# binary with the Dockerfile's build line and runs it as each of them does: same user, same environment, read-only root, a private network
# namespace, and Postgres, Redis and an S3 server under compose's host names. Then runs a second test that also needs a mount namespace:
# avatar uploads on a full and on a read-only disk.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "mount and network namespaces need root: run sudo make test-container"
need unshare util-linux
need ip iproute2
need redis-server redis-server
export TEST_S3_SERVER TEST_POSTGRES_BIN TEST_COMPOSE
TEST_COMPOSE=$(compose_program)
TEST_S3_SERVER=$(versitygw)
TEST_POSTGRES_BIN=$(postgres_bin)
go mod download
# 172.30.0.2 is Caddy's address in compose.yaml, 172.30.0.1 the machine's, which contrib/compose/caddy.yaml trusts.
unshare --mount --net -- bash -euc 'ip link set lo up
  ip address add 172.30.0.2/32 dev lo
  ip address add 172.30.0.1/32 dev lo
  exec "$@"' - \
  go test -tags container -count=1 -timeout 10m -v "$@" ./test/container
unshare --mount -- go test -tags container -count=1 -run '^TestPictureOnMountedDisk$' ./internal/identity/handler
