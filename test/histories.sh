#!/usr/bin/env bash
# Records HISTORIES (10000) histories of what clients do with one object (an upload, a transfer, its limits and one-time keys, an
# invitation, sessions) through three replicas on one Postgres, while one is killed and one is cut from the database. porcupine, in the
# module test/histories, decides whether one server could have answered so. Histories behind a seeded stale cache must be found.
# PARALLEL (24) histories run at a time. Those that are not linearizable are drawn in var/histories.
. "$(dirname "$0")/lib.sh"
cd "$root"
(cd test/histories && go test -count=1 . && go build -o "$work/histories" .)
make -s build
TEST_HISTORIES_CHECKER="$work/histories" go test -tags campaign -count=1 -timeout 3h -v -run '^TestHistories$' ./test/campaign
