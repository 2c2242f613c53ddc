#!/usr/bin/env bash
# The library jose for JavaScript verifies a token of every kind against GET /auth/keys, as any verifier of ours would.
. "$(dirname "$0")/lib.sh"
cd "$root"
need node nodejs
need npm npm

if [ ! -d test/clients/node_modules/jose ] || [ test/clients/package-lock.json -nt test/clients/node_modules ]; then
  (cd test/clients && npm ci --silent --no-audit --no-fund && touch node_modules)
fi

port=$(free_port)
CONSIGN_RATE_LIMIT=off start_server "$work/var" "$port" "$(free_port)" --demo
node test/clients/jose.mjs "http://localhost:$port" "$work/var/demo.txt"
