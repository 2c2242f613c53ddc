#!/usr/bin/env bash
# Mutation testing: scripts/mutate changes one operator of a Go package at a time, Stryker the receipt verifier of the pages. The tests
# should fail. Prints the mutants that lived and the score: how many of those that a test reaches were found. A score below the table's
# fails. PACKAGES names some of the table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/consign-mutate.XXXXXX")
trap 'rm -rf "$work"' EXIT

# package, least score in percent, packages with its tests if they are others
table='internal/proof 90
internal/ratelimit 80
internal/token 80
internal/translog 80
internal/transfer/content 70 ./internal/transfer/content ./internal/transfer/handler ./internal/transfer/service ./internal/app
internal/web/assets/proof.js 88'

js_mutants() { # js_mutants LEAST: Stryker copies all of its directory, so that has only what the test reads
  test/lib.sh npm_ci "$PWD/scripts/mutate"
  mkdir -p "$work/js"
  cp -r internal/web/assets/proof.js internal/web/assets/thirdparty internal/transfer/testdata/receipt test/proof.mjs "$work/js"
  echo '{"type": "module"}' >"$work/js/package.json"
  cat >"$work/js/stryker.config.json" <<JSON
{"testRunner": "command", "commandRunner": {"command": "node --no-warnings proof.mjs ./proof.js receipt"}, "mutate": ["proof.js"],
  "concurrency": 2, "reporters": ["clear-text"], "clearTextReporter": {"allowColor": false, "logTests": false},
  "thresholds": {"high": 100, "low": $1, "break": $1}}
JSON
  (cd "$work/js" && "$OLDPWD/scripts/mutate/node_modules/.bin/stryker" run)
}

failed=0 known=
while read -r package least tests; do
  [ -z "${PACKAGES:-}" ] || [[ " $PACKAGES " == *" $package "* ]] || continue
  begin=$SECONDS known=yes
  echo "== $package"
  if [ "$package" = internal/web/assets/proof.js ]; then js_mutants "$least"
  else go run ./scripts/mutate -least "$least" "./$package" $tests; fi || failed=1
  echo "$package: $(((SECONDS - begin + 59) / 60)) minutes"
done <<<"$table"
[ -n "$known" ] || { echo "PACKAGES names none of: $(cut -d' ' -f1 <<<"$table" | xargs)" >&2; exit 1; }
exit "$failed"
