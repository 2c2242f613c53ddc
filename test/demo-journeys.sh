#!/usr/bin/env bash
# Walks through Consign as newcomers do, in Chromium with a phone's window, on http://localhost and hosts below it (all are the
# loopback). Writes a picture of each step and index.html, with a sentence for each, to $JOURNEYS (default var/journeys).
. "$(dirname "$0")/lib.sh"
cd "$root"
for tool in chromium node npm; do
  command -v "$tool" >/dev/null 2>&1 || fail "make demo-journeys needs $tool: install it (Debian: apt-get install chromium nodejs npm), then try again"
done
npm_ci test

export JOURNEYS=${JOURNEYS:-$root/var/journeys}
mkdir -p "$JOURNEYS"
rm -f "$JOURNEYS"/journey-*.png "$JOURNEYS/index.html"
step "Starting a server for this run"
CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s CONSIGN_STRANGER_SHARE=100 start_server_with_provider
step "Walking the journeys"
node test/web/run.mjs "http://localhost:$port" "$work/var" "$JOURNEYS" 'journey|invited person|free organization|external provider'
echo "Pictures: $JOURNEYS/index.html"
