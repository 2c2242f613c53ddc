#!/usr/bin/env bash
# A page of an inbox of 1,000,000 transfers may take three times as long as one of 1,000 at most. Needs about 2 GB of free disk under $TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go test -tags million -count=1 -timeout 30m -v -run '^TestInboxOfAMillion$' ./internal/transfer/service
