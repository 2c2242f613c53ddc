#!/usr/bin/env bash
# Generates client/identityapi and client/transferapi from api/*.yaml, and writes the sums by which a test knows that they are current.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for api in identity-v3 transfer-v2; do
  go tool -modfile=client/generate/tools.mod oapi-codegen -config "client/generate/${api%-*}api.yaml" "api/$api.yaml"
done
sha256sum api/identity-v3.yaml api/transfer-v2.yaml client/generate/*.{yaml,tmpl} client/generate/tools.mod client/*api/*.gen.go >client/generate/sums
