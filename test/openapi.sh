#!/usr/bin/env bash
# Lints the OpenAPI documents with Redocly and Spectral. The rules that are off have their reasons in test/openapi/*.yaml.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test
export REDOCLY_TELEMETRY=off SCARF_ANALYTICS=false
bin=test/node_modules/.bin
for document in api/identity-v3.yaml api/transfer-v2.yaml api/admin-v1.yaml; do
  "$bin/redocly" lint --config test/openapi/redocly.yaml "$document" 2>"$work/redocly.log" || { cat "$work/redocly.log"; fail "redocly refuses $document"; }
  "$bin/spectral" lint --ruleset test/openapi/spectral.yaml --fail-severity warn "$document" || fail "spectral refuses $document"
done
