#!/usr/bin/env bash
# Tests logins through an external OpenID provider end to end, with a private server and the certified npm package oidc-provider.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test

start_server_with_provider
SERVER_URL="http://localhost:$port" node --test --test-reporter=spec "$@" test/oidc/flows.mjs
