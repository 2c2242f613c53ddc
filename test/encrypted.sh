#!/usr/bin/env bash
# Runs the tests of uploads, downloads and the whole server with encrypted storage.
set -euo pipefail
cd "$(dirname "$0")/.."
CONSIGN_TEST_STORAGE_ENCRYPTION=on exec go test -timeout 30m ./internal/app ./internal/transfer/... "$@"
