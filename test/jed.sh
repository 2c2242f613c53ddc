#!/usr/bin/env bash
# Checks that the JavaScript library jed can load the translations of every locale from GET /i18n/{locale}.
. "$(dirname "$0")/lib.sh"
cd "$root"
need node nodejs
need npm npm

if [ ! -d test/clients/node_modules/jed ] || [ test/clients/package-lock.json -nt test/clients/node_modules ]; then
  (cd test/clients && npm ci --silent --no-audit --no-fund && touch node_modules)
fi

port=$(free_port)
CONSIGN_RATE_LIMIT=off start_server "$work/var" "$port" "$(free_port)"
node test/clients/jed.mjs "http://localhost:$port"
