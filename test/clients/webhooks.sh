#!/usr/bin/env bash
# 9,000 deliveries to webhooks while the server is killed KILLS (20) times, verified by the Go library of Standard Webhooks, by npm's,
# and by svix.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
cd "$root"
[ -x bin/consign ] || make -s build
npm_ci test
EVENTS=${EVENTS:-1000} KILLS=${WEBHOOK_KILLS:-20} MESSAGES=$work/messages go test -tags campaign -count=1 -timeout 30m -v -run '^TestWebhooks$' ./test/campaign
node test/clients/webhooks.mjs "$work/messages"
for package in standardwebhooks svix; do
  works "$package (npm)" "$(npm_version "$package")" "verifies $(wc -l <"$work/messages") messages of webhooks"
done
