#!/usr/bin/env bash
# Tests logins through an external OpenID provider end to end, with a private server and the certified npm package oidc-provider.
. "$(dirname "$0")/lib.sh"
cd "$root"
need node nodejs
need npm npm
if [ ! -d test/oidc/node_modules/oidc-provider ] || [ test/oidc/package-lock.json -nt test/oidc/node_modules ]; then
  (cd test/oidc && npm ci --silent --no-audit --no-fund && touch node_modules)
fi

port=$(free_port)
IDP_PORT=$(free_port)
export IDP_PORT
cat >"$work/clients.json" <<JSON
[{"type": "keycloak", "issuer": "http://127.0.0.1:$IDP_PORT", "clientId": "consign",
  "clientSecret": "secret-of-consign-at-the-test-provider", "name": "Test provider"}]
JSON
CONSIGN_RATE_LIMIT=off CONSIGN_OIDC_CLIENTS="$work/clients.json" start_server "$work/var" "$port" "$(free_port)" --demo
SERVER_URL="http://localhost:$port" node --test --test-reporter=spec "$@" test/oidc/flows.mjs
