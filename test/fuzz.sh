#!/usr/bin/env bash
# Runs each fuzz target in turn for FUZZTIME (default 60s). Stops at the first target that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-60s}
command -v "$go" >/dev/null || { echo "FAILED: go is missing: install Go and run this again" >&2; exit 1; }
targets=0
while read -r package directory; do
  grep -qs '^func Fuzz' "$directory"/*_test.go || continue
  for target in $("$go" test "$package" -list '^Fuzz' | grep '^Fuzz'); do
    echo "== $package $target"
    # Go would shorten each new input for up to a minute, and try no others meanwhile.
    "$go" test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s -parallel 2 </dev/null
    targets=$((targets + 1))
  done
done < <("$go" list -f '{{.ImportPath}} {{.Dir}}' ./...)
[ "$targets" -gt 0 ] || { echo "FAILED: no fuzz target found" >&2; exit 1; }
echo "ok: $targets targets, $time each"
