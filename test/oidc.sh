#!/usr/bin/env bash
# Tests logins through an external OpenID provider end to end, with a private server and the certified npm package oidc-provider.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test

start_server_with_provider
SERVER_URL="http://localhost:$port" node --test --test-reporter=spec "$@" test/oidc/flows.mjs | tee "$work/flows"
flows=$(sed -n 's/^. tests \([0-9]*\)$/\1/p' "$work/flows")
works oidc-provider "$(npm_version oidc-provider)" "an identity provider: $flows flows"
works openid-client "$(npm_version openid-client)" "a device login"
