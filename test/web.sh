#!/usr/bin/env bash
# Tests the web client in Debian's chromium, driven by playwright-core, against a private server. Screenshots of every page go to
# docs/screenshots with SCREENSHOTS=on, otherwise to the temporary directory of the run.
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
for dir in test/web test/oidc; do # test/oidc contains the external provider
  if [ ! -d "$dir/node_modules" ] || [ "$dir/package-lock.json" -nt "$dir/node_modules" ]; then
    (cd "$dir" && npm ci --silent --no-audit --no-fund && touch node_modules)
  fi
done

port=$(free_port)
IDP_PORT=$(free_port)
export IDP_PORT
cat >"$work/clients.json" <<JSON
[{"type": "keycloak", "issuer": "http://127.0.0.1:$IDP_PORT", "clientId": "consign",
  "clientSecret": "secret-of-consign-at-the-test-provider", "name": "Test provider"}]
JSON
CONSIGN_RATE_LIMIT=off CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s CONSIGN_OIDC_CLIENTS="$work/clients.json" start_server "$work/var" "$port" "$(free_port)" --demo
pictures="$work/pictures"
[ "${SCREENSHOTS:-}" != on ] || pictures="$root/docs/screenshots"
mkdir -p "$pictures"
node test/web/run.mjs "http://localhost:$port" "$work/var" "$pictures" "$@"
if [ "${SCREENSHOTS:-}" = on ] && command -v pngquant >/dev/null 2>&1; then # reduces the size to a third without visible loss
  pngquant --force --ext .png --skip-if-larger "$pictures"/*.png || [ $? -eq 98 ]
fi
