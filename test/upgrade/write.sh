#!/usr/bin/env bash
# Writes testdata again: builds the test in the tree of the version of before 1.0.0 (commit 02c85b0) and runs it there.
. "$(dirname "$0")/../lib.sh"
cd "$root/test/upgrade"
git -C "$root" archive 02c85b0 | tar -x -C "$work"
mkdir -p "$work/test/upgrade"
cp write_test.go known_test.go "$work/test/upgrade"
rm -rf testdata
mkdir testdata
(cd "$work" && go test -tags fixture -count=1 -run '^TestWrite$' ./test/upgrade -out "$root/test/upgrade/testdata" -pg_dump "$(postgres_bin)/pg_dump")
