#!/usr/bin/env bash
# Kills the server ROUNDS times (200) with SIGKILL at random moments of upload, confirm and delivery, and as often between two steps of
# forward, extend, adding a recipient, and revoke with its purge, and before each message of a request with an Idempotency-Key. Then checks every byte, the result of consign fsck, every mail and the volumes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x bin/consign ] || make -s build
[ -z "${ROUNDS:-}" ] || export TEST_FAULT_ROUNDS=$ROUNDS
exec go test -tags campaign -count=1 -timeout 90m -v -run "${RUN:-^TestFaults}" ./test/campaign
