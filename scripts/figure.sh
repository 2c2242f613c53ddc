#!/usr/bin/env bash
# Ends a target that has succeeded: writes what it counted into docs/trust.md, and that of blackout into README.md, when FIGURES=1 is set.
# scripts/figure.sh NAME BEGIN: NAME is the target without test-, BEGIN its first second. The file $FIGURE holds what the target counted,
# a number and words in each line; lines with the same words are added up. FIGURES_ROOT is another directory with both documents.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "${FIGURES:-}" = 1 ] || exit 0
fail() { printf 'scripts/figure.sh: %s\n' "$*" >&2; exit 1; }
name=$1 minutes=$((($(date +%s) - $2 + 59) / 60)) into=${FIGURES_ROOT:-.}
target=$(grep -qE "^$name:" Makefile && echo "$name" || echo "test-$name")
grep -qF "| \`make $target\` |" "$into/docs/trust.md" || { echo "docs/trust.md has no row of $target"; exit 0; }
[ -s "${FIGURE:?}" ] || fail "$name has counted nothing"

counted=$(awk '
  function grouped(n,  out) {
    for (out = ""; n >= 1000; n = int(n / 1000)) out = sprintf(",%03d", n % 1000) out
    return n out
  }
  { n = $1; sub(/^[0-9]+ /, ""); if (!($0 in sum)) order[++kinds] = $0; sum[$0] += n }
  END { for (i = 1; i <= kinds; i++) printf "%s%s %s", (i > 1 ? ", " : ""), grouped(sum[order[i]]), order[i] }' "$FIGURE")
commit=$(git rev-parse --short HEAD 2>/dev/null || echo source)
[ -z "$(git status --porcelain -- ':!docs/trust.md' ':!README.md' 2>/dev/null)" ] || commit+=-dirty

# replace FILE: writes $begin and $rest in the place of the one line that begins with $begin. Both are exported for awk.
replace() {
  [ "$(awk 'index($0, ENVIRON["begin"]) == 1' "$1" | wc -l)" = 1 ] || fail "$1 has not one line that begins with $begin"
  awk 'index($0, ENVIRON["begin"]) == 1 { $0 = ENVIRON["begin"] ENVIRON["rest"] } { print }' "$1" >"$work"
  cat "$work" >"$1"
}
work=$(mktemp)
trap 'rm -f "$work"' EXIT
begin="| \`make $target\` |" rest=" $(date -u +%F) | $commit | $counted | $minutes |" replace "$into/docs/trust.md"
[ "$name" != blackout ] || begin="At the last count: " rest="$counted." replace "$into/README.md"
