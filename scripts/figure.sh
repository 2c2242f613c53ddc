#!/usr/bin/env bash
# Ends a target that has succeeded: writes what it counted into docs/trust.md, that of blackout into README.md, and which programs of others
# worked into docs/interoperability.md, when FIGURES=1 is set.
# scripts/figure.sh NAME BEGIN: NAME is the target without test-, BEGIN its first second. The file $FIGURE holds what the target counted,
# a number and words in each line; lines with the same words are added up. Lines of works (test/lib.sh) are rows of a table instead.
# FIGURES_ROOT is another directory with these documents.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "${FIGURES:-}" = 1 ] || exit 0
fail() { printf 'scripts/figure.sh: %s\n' "$*" >&2; exit 1; }
name=$1 minutes=$((($(date +%s) - $2 + 59) / 60)) into=${FIGURES_ROOT:-.}
target=$(grep -qE "^$name:" Makefile && echo "$name" || echo "test-$name")
commit=$(git rev-parse --short HEAD 2>/dev/null || echo source)
[ -z "$(git status --porcelain -- ':!docs/trust.md' ':!docs/interoperability.md' ':!README.md' 2>/dev/null)" ] || commit+=-dirty
work=$(mktemp)
trap 'rm -f "$work"' EXIT

# Each program of others has one row, which begins with its name; the rows are in alphabetical order below the head of the table.
table=$into/docs/interoperability.md
while IFS= read -r row; do
  row=$row awk -v tail=" $(date -u +%F) | $commit | \`make $target\` |" '
    BEGIN { row = ENVIRON["row"] tail; split(ENVIRON["row"], new, "|") }
    /^\| / && body {
      split($0, old, "|")
      if (old[2] == new[2]) next
      if (!done && tolower(old[2]) > tolower(new[2])) { print row; done = 1 }
    }
    body && !/^\|/ && !done { print row; done = 1 }
    /^\|---/ { body = 1 }
    { print }
    END { if (!done) print row }' "$table" >"$work"
  cat "$work" >"$table"
done < <(grep '^|' "${FIGURE:?}" || true)
sed -i.bak '/^|/d' "$FIGURE" && rm -f "$FIGURE.bak"

grep -qF "| \`make $target\` |" "$into/docs/trust.md" || exit 0
[ -s "$FIGURE" ] || fail "$name has counted nothing"

counted=$(awk '
  function grouped(n,  out) {
    for (out = ""; n >= 1000; n = int(n / 1000)) out = sprintf(",%03d", n % 1000) out
    return n out
  }
  { n = $1; sub(/^[0-9]+ /, ""); if (!($0 in sum)) order[++kinds] = $0; sum[$0] += n }
  END { for (i = 1; i <= kinds; i++) printf "%s%s %s", (i > 1 ? ", " : ""), grouped(sum[order[i]]), order[i] }' "$FIGURE")

# replace FILE: writes $begin and $rest in the place of the one line that begins with $begin. Both are exported for awk.
replace() {
  [ "$(awk 'index($0, ENVIRON["begin"]) == 1' "$1" | wc -l)" = 1 ] || fail "$1 has not one line that begins with $begin"
  awk 'index($0, ENVIRON["begin"]) == 1 { $0 = ENVIRON["begin"] ENVIRON["rest"] } { print }' "$1" >"$work"
  cat "$work" >"$1"
}
begin="| \`make $target\` |" rest=" $(date -u +%F) | $commit | $counted | $minutes |" replace "$into/docs/trust.md"
[ "$name" != blackout ] || begin="At the last count: " rest="$counted." replace "$into/README.md"
