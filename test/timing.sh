#!/usr/bin/env bash
# Checks against account enumeration by timing: requests take equally long for known and for unknown email addresses. Takes 400
# interleaved samples per call; the medians may differ by 15 %. Needs an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go test -tags timing -count=1 -v -run EqualCost ./internal/identity/handler
