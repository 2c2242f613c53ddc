#!/usr/bin/env bash
# Mutation testing: gremlins changes one operator of a Go package at a time, Stryker the receipt verifier of the pages. The tests should
# fail.
# Prints the mutants that lived and the score: how many of those that a test reaches were found. A score below the table's fails.
# PACKAGES names some of the table. Minutes on two cores: proof 2, proof.js 3, ratelimit 3, token and translog an hour, content many.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=v0.6.0 gremlins=$PWD/.tools/gremlins-v0.6.0
work=$(mktemp -d "${TMPDIR:-/tmp}/consign-mutate.XXXXXX")
trap 'rm -rf "$work"' EXIT

# package, least score in percent, arguments of go test
table='internal/proof 90
internal/ratelimit 80
internal/token 80 -skip=^TestRotationUnderLoad$|^TestRevocationWithoutListener$
internal/translog 80
internal/transfer/content 70 -run=Upload|Resum|Tus|Part|Download|Archive|Concat|Digest|Damage
internal/web/assets/proof.js 88'

if [ ! -x "$gremlins" ]; then
  GOBIN=$work GOFLAGS='' go install "github.com/go-gremlins/gremlins/cmd/gremlins@$version"
  mkdir -p .tools
  mv "$work/gremlins" "$gremlins"
fi

go_mutants() { # go_mutants PACKAGE LEAST [ARGUMENT of go test]
  local path=$PATH coverage=()
  if [ "$1" = internal/transfer/content ]; then
    MUTATE_GO=$(command -v go) path=$PWD/scripts/mutate:$PATH coverage=(--coverpkg ./internal/transfer/content)
    export MUTATE_GO
  fi
  printf 'unleash:\n  threshold:\n    efficacy: %s\n' "$2" >"$work/gremlins.yaml" # the flag for it does nothing in v0.6.0
  # Without go vet, and until the first test that fails, a mutant takes a third of the time.
  PATH=$path GOFLAGS="-buildvcs=false -vet=off -failfast${3:+ $3}" "$gremlins" unleash --config "$work/gremlins.yaml" --workers 1 \
    --timeout-coefficient 5 --output-statuses lt ${coverage[@]+"${coverage[@]}"} "./$1"
}

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

failed=0
while read -r package least arguments; do
  [ -z "${PACKAGES:-}" ] || [[ " $PACKAGES " == *" $package "* ]] || continue
  begin=$SECONDS
  echo "== $package"
  if [ "$package" = internal/web/assets/proof.js ]; then js_mutants "$least"
  else go_mutants "$package" "$least" "$arguments"; fi || failed=1
  echo "$package: $(((SECONDS - begin + 59) / 60)) minutes"
done <<<"$table"
exit "$failed"
