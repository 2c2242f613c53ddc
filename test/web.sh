#!/usr/bin/env bash
# The web client as people use it: Debian's chromium, driven by playwright-core, against a server started for the run.
# Pictures of every page go to docs/screenshots with SCREENSHOTS=on, else to the run's own directory.
. "$(dirname "$0")/lib.sh"
cd "$root"
need node nodejs
need npm npm

if ! command -v chromium >/dev/null 2>&1; then
  [ "$(id -u)" = 0 ] || fail "chromium is missing: run apt-get install chromium as root, then this again"
  echo "installing Debian's chromium once"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-noto-color-emoji fonts-noto-cjk >/dev/null
fi
if [ ! -d test/web/node_modules/playwright-core ] || [ test/web/package-lock.json -nt test/web/node_modules ]; then
  (cd test/web && npm ci --silent --no-audit --no-fund && touch node_modules)
fi

port=$(free_port)
CONSIGN_RATE_LIMIT=off start_server "$work/var" "$port" "$(free_port)" --demo
pictures="$work/pictures"
[ "${SCREENSHOTS:-}" != on ] || pictures="$root/docs/screenshots"
mkdir -p "$pictures"
node test/web/run.mjs "http://localhost:$port" "$work/var" "$pictures" "$@"
