#!/usr/bin/env bash
# Runs each fuzz target in turn for FUZZTIME (default 60s). Stops at the first target that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-60s}
command -v "$go" >/dev/null || { echo "FAILED: go is missing: install Go and run this again" >&2; exit 1; }
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
targets=0
while read -r package directory; do
  grep -qs '^func Fuzz' "$directory"/*_test.go || continue
  for target in $("$go" test "$package" -list '^Fuzz' | grep '^Fuzz'); do
    echo "== $package $target"
    # Go would shorten each new input for up to a minute, and try no others meanwhile.
    "$go" test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s -parallel 2 </dev/null | tee "$printed" ||
      # Go may report the end of -fuzztime itself as the failure (golang/go#75804). A finding has other lines below FAIL.
      [ "$(sed -n '/^--- FAIL/,/^FAIL$/{//!p}' "$printed")" = "    context deadline exceeded" ]
    targets=$((targets + 1))
  done
done < <("$go" list -f '{{.ImportPath}} {{.Dir}}' ./...)
[ "$targets" -gt 0 ] || { echo "FAILED: no fuzz target found" >&2; exit 1; }
echo "ok: $targets targets, $time each"
