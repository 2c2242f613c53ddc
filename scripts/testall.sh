#!/usr/bin/env bash
# make test-all: runs each target once for a commit, and goes on after a failure. What has passed on this commit is not run again, so
# several runs make one table: target, result, minutes, and the load of the machine when the target began. It fails until all have passed.
# scripts/testall.sh TARGET...; SUITES names some of them ("test-race test-web"). Output: var/test-all/COMMIT/TARGET.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
commit=$(git rev-parse --short HEAD)
if [ -n "$(git status --porcelain -- ':!docs/trust.md' ':!docs/interoperability.md' ':!README.md')" ]; then # FIGURES=1 changes these
  echo "the tree has changes: commit them, since results belong to a commit" >&2
  exit 1
fi
results=var/test-all/$commit
mkdir -p "$results"

for target; do
  [ -z "${SUITES:-}" ] || [[ " $SUITES " == *" $target "* ]] || continue
  grep -qs '^passed' "$results/$target" && continue
  echo "== $target"
  load=$(uptime | sed 's/.*: //; s/[, ].*//') begin=$SECONDS result=passed
  "${MAKE:-make}" --no-print-directory "$target" >"$results/$target.log" 2>&1 || result=failed
  printf '%s\t%s\t%s\n' "$result" $(((SECONDS - begin + 59) / 60)) "$load" >"$results/$target"
  [ "$result" = passed ] || tail -n 20 "$results/$target.log" >&2
done

printf '\n| target | %s | minutes | load before |\n|---|---|---|---|\n' "$commit"
missing=0
for target; do
  line=$(cat "$results/$target" 2>/dev/null || printf 'not run\t–\t–')
  [[ $line == passed* ]] || missing=1
  printf '| %s | %s |\n' "$target" "${line//$'\t'/ | }"
done
exit "$missing"
