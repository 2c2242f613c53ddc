#!/usr/bin/env bash
# Moves the files of changes/ into the first version of CHANGELOG.md, which must not be released yet: each becomes a line at the end of its
# audience's part, which is added when it is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fail() { printf 'scripts/release/changelog.sh: %s\n' "$*" >&2; exit 1; }
grep -m1 '^## ' CHANGELOG.md | grep -q '(unreleased)$' || fail "the first version of CHANGELOG.md is released: add '## VERSION (unreleased)' above it"

part() { # part FILE: prints the heading of its audience
  case ${1#changes/} in
    people-*) echo "For people who send and receive" ;;
    programs-*) echo "For programs" ;;
    organizations-*) echo "For organizations" ;;
    operators-*) echo "For those who run it" ;;
    security-*) echo "Security" ;;
    *) fail "$1: the name must begin with people-, programs-, organizations-, operators- or security-" ;;
  esac
}

shopt -s nullglob
lines=$(mktemp)
trap 'rm -f "$lines" CHANGELOG.md.new' EXIT
files=()
for file in changes/*.md; do
  [ "$file" != changes/README.md ] || continue
  heading=$(part "$file")
  printf '%s\t- %s\n' "$heading" "$(tr '\n' ' ' <"$file" | sed 's/ *$//')" >>"$lines"
  files+=("$file")
done
awk -F '\t' -v lines="$lines" '
  function add(part, line) { if (!(part in text)) order[++parts] = part; text[part] = text[part] line "\n" }
  function flush(  i, t) {
    while ((getline new <lines) > 0) { split(new, cell, "\t"); sub(/\n*$/, "\n", text[cell[1]]); if (!known[cell[1]]++ && text[cell[1]] == "\n") { text[cell[1]] = "\n"; order[++parts] = cell[1] } text[cell[1]] = text[cell[1]] cell[2] "\n" }
    for (i = 1; i <= parts; i++) { t = text[order[i]]; gsub(/^\n+|\n+$/, "", t); print (order[i] == "" ? "" : "### " order[i] "\n\n") t "\n" }
    flushed = 1
  }
  /^## / { if (++versions == 2) flush() ; else if (versions == 1) { print; print ""; next } }
  versions != 1 { print; next }
  /^### / { part = substr($0, 5); known[part] = 1 }
  { if (/^### /) { if (!(part in text)) { order[++parts] = part; text[part] = "" } } else add(part, $0) }
  END { if (!flushed) flush() }' CHANGELOG.md >CHANGELOG.md.new
cat CHANGELOG.md.new >CHANGELOG.md
for file in ${files[@]+"${files[@]}"}; do rm "$file"; echo "$file: moved"; done
