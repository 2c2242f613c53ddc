#!/usr/bin/env bash
# Runs the attack tests: every Go test whose name contains Attack, then every script in test/attacks.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
command -v "$go" >/dev/null || { echo "FAILED: go is missing: install Go and run this again" >&2; exit 1; }
mapfile -t packages < <(grep -rlE '^func Test[A-Za-z0-9]*Attack' --include='*_test.go' cmd internal | xargs -r -n1 dirname | sort -u | sed 's|^|./|')
if [ "${#packages[@]}" -gt 0 ]; then
  "$go" test -count=1 -run Attack "${packages[@]}"
fi
shopt -s nullglob
scripts=(test/attacks/*.sh)
for script in "${scripts[@]}"; do
  echo "== $script"
  timeout 900 "$script"
done
echo "ok: ${#packages[@]} packages with attack tests, ${#scripts[@]} scripts"
