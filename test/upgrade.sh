#!/usr/bin/env bash
# Tests the upgrade from the version before 1.0.0 (commit 02c85b0): builds it from the history of this repository, serves it with
# three replicas under load, migrates, and replaces the replicas one after the other.
. "$(dirname "$0")/lib.sh"
cd "$root"
need caddy caddy
need "${TEST_REDIS_SERVER:-redis-server}" redis-server
[ -x bin/consign ] || make -s build
older=02c85b0
git cat-file -e "$older^{commit}" 2>/dev/null || fail "commit $older is missing: this test needs the whole history, run git fetch --unshallow"
mkdir "$work/older"
git archive "$older" | tar -x -C "$work/older"
(cd "$work/older" && go build -trimpath -ldflags "-s -w -X main.version=$older" -o "$work/consign-$older" ./cmd/consign)
start_s3
TEST_OLD_BINARY="$work/consign-$older" go test -tags campaign -count=1 -timeout 15m -v -run '^TestUpgradeUnderLoad$' "$@" ./test/campaign
