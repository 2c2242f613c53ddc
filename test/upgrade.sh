#!/usr/bin/env bash
# Tests an upgrade: builds a former version from the history of this repository, serves it with three replicas under load, migrates with
# this tree and an example of a migration that this script adds to it, and replaces the replicas one after the other.
. "$(dirname "$0")/lib.sh"
cd "$root"
need caddy caddy
need "${TEST_REDIS_SERVER:-redis-server}" redis-server
older=$(former_commit)
build() { (cd "$1" && go build -trimpath -ldflags "-s -w -X main.version=$2" -o "$work/consign-$2" ./cmd/consign); }
mkdir "$work/older" "$work/newer"
git archive "$older" | tar -x -C "$work/older"
build "$work/older" "$older"
git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$work/newer"
cat >"$work/newer/migrations/$(printf '%04d' $(($(find migrations -name '*.sql' | wc -l) + 1)))_example.sql" <<'SQL'
-- +goose NO TRANSACTION
-- +goose Up
ALTER TABLE transfer.transfers ADD COLUMN example text NOT NULL DEFAULT 'old';
ALTER TABLE transfer.objects ADD COLUMN example bigint;
CREATE INDEX CONCURRENTLY transfers_example ON transfer.transfers (example, uid);
SQL
build "$work/newer" new
echo "from $older to $(git describe --always --dirty) with an example of a migration"
start_s3
TEST_OLD_BINARY="$work/consign-$older" TEST_NEW_BINARY="$work/consign-new" go test -tags campaign -count=1 -timeout 15m -v -run '^TestUpgradeUnderLoad$' "$@" ./test/campaign
