#!/usr/bin/env bash
# Generates client/identityapi and client/transferapi from api/*.yaml, and writes the sums by which a test knows that they are current.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
go tool -modfile=client/generate/tools.mod oapi-codegen -config client/generate/identityapi.yaml api/identity-v3.yaml
go tool -modfile=client/generate/tools.mod oapi-codegen -config client/generate/transferapi.yaml api/transfer-v2.yaml
sha256sum api/identity-v3.yaml api/transfer-v2.yaml client/generate/*.yaml client/generate/tools.mod \
  client/identityapi/identityapi.gen.go client/transferapi/transferapi.gen.go >client/generate/sums
