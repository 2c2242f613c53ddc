#!/usr/bin/env bash
# Measures that answers take as long for addresses that nobody has as for those that somebody has: 400 interleaved samples a call,
# medians within 15 %. It wants a quiet machine.
set -euo pipefail
cd "$(dirname "$0")/.."
exec go test -tags timing -count=1 -v -run EqualCost ./internal/identity/handler
