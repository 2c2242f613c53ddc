#!/usr/bin/env bash
# Measures the time of one inbox page: with 1,000,000 transfers it may take at most three times as long as with 1,000. Needs about 2 GB
# of free disk under $TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go test -tags million -count=1 -timeout 30m -v -run '^TestInboxOfAMillion$' ./internal/transfer/service
