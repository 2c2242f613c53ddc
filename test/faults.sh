#!/usr/bin/env bash
# 200 rounds of kill -9 at random moments of upload, confirm and delivery; then every byte, consign fsck and every mail is looked at.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x bin/consign ] || make -s build
exec go test -tags campaign -count=1 -timeout 60m -v -run '^TestFaults$' ./test/campaign
