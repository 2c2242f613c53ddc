#!/usr/bin/env bash
# Checks that the JavaScript library jed can load the translations of every locale from GET /i18n/{locale}.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test

port=$(free_port)
CONSIGN_RATE_LIMIT=off start_server "$work/var" "$port" "$(free_port)"
node test/clients/jed.mjs "http://localhost:$port"
works jed "$(npm_version jed)" "loads the translations of each language"
