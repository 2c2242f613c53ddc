#!/usr/bin/env bash
# Kills the server 200 times with SIGKILL at random moments of upload, confirm and delivery. Then checks every byte, the result of
# consign fsck, and every mail.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x bin/consign ] || make -s build
exec go test -tags campaign -count=1 -timeout 60m -v -run '^TestFaults$' ./test/campaign
