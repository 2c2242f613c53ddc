#!/usr/bin/env bash
# Runs 32 parallel uploads of 1 GB each. Fails when the server's resident memory exceeds 120 MB. Needs 33 GB of free disk under $TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x bin/consign ] || make -s build
exec go test -tags campaign -count=1 -timeout 60m -v -run '^TestMemory$' ./test/campaign
