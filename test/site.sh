#!/usr/bin/env bash
# Tests the documents site: builds it and opens each page in Debian's chromium, light and dark. SITE_PICTURES=DIR keeps three pictures.
. "$(dirname "$0")/lib.sh"
cd "$root"
need chromium chromium
npm_ci test
scripts/site/build.sh dist
node test/site/run.mjs dist/site
