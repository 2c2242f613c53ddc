#!/usr/bin/env bash
# Builds the documents site and the logo in its sizes: DIR/site and DIR/logo (default dist). The site is static, has its search with it
# and asks no other host. The same commit gives the same bytes on any path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(realpath -m "${1:-dist}")
test/lib.sh need rsvg-convert librsvg2-bin
test/lib.sh npm_ci "$PWD/scripts/site"

rm -rf "$out/logo" "$out/site"
mkdir -p "$out/logo"
cp internal/web/assets/icon.svg "$out/logo/consign.svg"
for size in 16 32 48 64 128 180 192 256 512 1024; do
  rsvg-convert --width $size --height $size --output "$out/logo/consign-$size.png" "$out/logo/consign.svg"
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
scripts/site/node_modules/.bin/vitepress build scripts/site --outDir "$out/site" >"$log" 2>&1 ||
  { cat "$log" >&2; echo "the documents site was not built" >&2; exit 1; }
cp -R "$out/logo" "$out/site/logo"
