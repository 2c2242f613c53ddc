#!/usr/bin/env bash
# Checks that the JavaScript library jose can verify a token of each kind with the keys from GET /auth/keys.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test

port=$(free_port)
CONSIGN_RATE_LIMIT=off start_server "$work/var" "$port" "$(free_port)" --demo
node test/clients/jose.mjs "http://localhost:$port" "$work/var/demo.txt"
works jose "$(npm_version jose)" "verifies each kind of token with the published keys"
