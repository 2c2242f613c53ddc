#!/usr/bin/env bash
# Dockerfile and compose.yaml without a container engine: builds the binary with the Dockerfile's line and runs it as compose.yaml would, as its user,
# with its environment, on a read-only root, in a network of its own, beside a Postgres, a Redis and an S3 server under compose's names.
# Then what takes the same rights: pictures that wait on a full disk, and on a read-only one.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "this takes mount and network namespaces: run it as root (sudo make test-container)"
need unshare util-linux
need ip iproute2
need redis-server redis-server
export TEST_S3_SERVER TEST_POSTGRES_BIN
TEST_S3_SERVER=$(versitygw)
TEST_POSTGRES_BIN=$(postgres_bin)
go mod download
# The address is Caddy's in compose.yaml.
unshare --mount --net -- bash -c 'ip link set lo up && ip address add 172.30.0.2/32 dev lo && exec "$@"' - go test -tags container -count=1 -timeout 10m -v "$@" ./test/container
unshare --mount -- go test -tags container -count=1 -run '^TestPictureOnMountedDisk$' ./internal/identity/handler
