#!/usr/bin/env bash
# 20 rounds of kill -9 and SIGTERM at random moments of an upload; nothing acknowledged may be lost.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x bin/consign ] || make -s build
exec go test -tags campaign -count=1 -timeout 30m -v -run '^TestCrash$' ./test/campaign
