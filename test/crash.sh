#!/usr/bin/env bash
# Kills the server 20 times with SIGKILL or SIGTERM at random moments of an upload, by PUT, tus and the IETF's protocol in turn, and 20 times
# during uploads in parts: no acknowledged byte may be lost. And 20 times while files are inspected: none may be given before its verdict.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x bin/consign ] || make -s build
exec go test -tags campaign -count=1 -timeout 30m -v -run '^TestCrash(Parts|Inspections)?$' ./test/campaign
