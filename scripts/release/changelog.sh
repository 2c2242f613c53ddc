#!/usr/bin/env bash
# Moves the files of changes/ into the first version of CHANGELOG.md, which must not be released yet: each becomes a line at the end of its
# audience's part, which is added when it is missing. Then writes that version into the other files that name it (TestVersionsAgree).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fail() { printf 'scripts/release/changelog.sh: %s\n' "$*" >&2; exit 1; }
grep -m1 '^## ' CHANGELOG.md | grep -q '(unreleased)$' ||
  fail "the first version of CHANGELOG.md is released: add '## VERSION (unreleased)' above it"

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
for file in changes/*.md; do [ "$file" = changes/README.md ] || part "$file" >/dev/null; done
for file in changes/{people,programs,organizations,operators,security}-*.md; do
  heading=$(part "$file")
  printf '%s\t- %s\n' "$heading" "$(tr '\n' ' ' <"$file" | sed 's/ *$//')" >>"$lines"
  files+=("$file")
done
# The parts of the first version are collected, the lines added to theirs, and all are written where the next version begins.
awk -F '\t' -v lines="$lines" '
  function add(part, line) {
    if (!(part in text)) order[++parts] = part
    text[part] = text[part] line "\n"
  }
  function flush(  i, t) {
    for (i = 1; i <= parts; i++) sub(/\n*$/, "\n", text[order[i]])
    while ((getline line <lines) > 0) {
      split(line, cell, "\t")
      add(cell[1], cell[2])
    }
    for (i = 1; i <= parts; i++) {
      t = text[order[i]]
      gsub(/^\n+|\n+$/, "", t)
      if (order[i] != "") print "### " order[i] "\n"
      if (t != "") print t "\n"
    }
    flushed = 1
  }
  /^## / && ++versions == 1 { print $0 "\n"; next }
  /^## / && versions == 2 { flush() }
  versions != 1 { print; next }
  /^### / { part = substr($0, 5); add(part, ""); next }
  { add(part, $0) }
  END { if (!flushed) flush() }' CHANGELOG.md >CHANGELOG.md.new
cat CHANGELOG.md.new >CHANGELOG.md
for file in ${files[@]+"${files[@]}"}; do rm "$file"; echo "$file: moved"; done

version=$(grep -m1 '^## ' CHANGELOG.md | cut -d' ' -f2)
write() { # write FILE EXPRESSION: edits FILE with sed, and says so when that changes it
  sed -E "$2" "$1" >"$lines"
  cmp -s "$lines" "$1" || { cat "$lines" >"$1"; echo "$1: $version"; }
}
write deploy/kubernetes/Chart.yaml "s/^(version|appVersion): .*/\1: $version/"
write deploy/kubernetes/values.yaml "s/^(image: .*:)[^:]*/\1$version/"
write deploy/kubernetes/example/kustomization.yaml "s/^( +newTag: ).*/\1$version/"
write docs/use/kubernetes.md "s,(/consign:)[0-9.]*[0-9],\1$version,"
write clients/typescript/package.json "s/^(  \"version\": \").*\"/\1$version\"/"
write clients/typescript/package-lock.json "1,10s/^( +\"version\": \").*\"/\1$version\"/"
