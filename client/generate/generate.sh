#!/usr/bin/env bash
# Generates client/identityapi, client/transferapi and the types of clients/typescript from api/*.yaml (needs node), and writes the sums by which a test knows that they are current.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
go tool -modfile=client/generate/tools.mod oapi-codegen -config client/generate/identityapi.yaml api/identity-v3.yaml
go tool -modfile=client/generate/tools.mod oapi-codegen -config client/generate/transferapi.yaml api/transfer-v2.yaml
if [ ! -d clients/typescript/node_modules/openapi-typescript ] || [ clients/typescript/package-lock.json -nt clients/typescript/node_modules ]; then
  (cd clients/typescript && npm ci --silent --no-audit --no-fund && touch node_modules)
fi
(cd clients/typescript && npm run --silent generate >/dev/null 2>&1) || { echo "clients/typescript: npm run generate failed" >&2; exit 1; }
sha256sum api/identity-v3.yaml api/transfer-v2.yaml client/generate/*.yaml client/generate/tools.mod \
  client/identityapi/identityapi.gen.go client/transferapi/transferapi.gen.go \
  clients/typescript/src/identity.ts clients/typescript/src/transfer.ts clients/typescript/package-lock.json >client/generate/sums
