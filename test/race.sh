#!/usr/bin/env bash
# Runs all tests with the race detector, which needs a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v "${CC:-cc}" >/dev/null 2>&1 || { echo "FAILED: the race detector needs a C compiler: install gcc or clang" >&2; exit 1; }
CGO_ENABLED=1 exec go test -race -timeout 30m ./...
