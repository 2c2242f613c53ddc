#!/usr/bin/env bash
# Tests the web client in Debian's chromium, driven by playwright-core, against a private server. Pictures of every page go to var/pictures.
# FRAMES=60 delays each frame by 60 ms: it finds what works only because a frame comes at once.
# SCREENSHOTS=on renews those that documents show, in docs/screenshots, with them.
. "$(dirname "$0")/lib.sh"
cd "$root"

if ! command -v chromium >/dev/null 2>&1; then
  [ "$(id -u)" = 0 ] || fail "chromium is missing: run apt-get install chromium as root, then this again"
  echo "installing Debian's chromium once"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-noto-color-emoji fonts-noto-cjk >/dev/null
fi
npm_ci test

CONSIGN_ADMIN_CONSOLE=public CONSIGN_WEBHOOK_ALLOW=127.0.0.1 CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s CONSIGN_STRANGER_SHARE=100 start_server_with_provider
pictures="$root/var/pictures"
mkdir -p "$pictures"
status=0
node test/web/run.mjs "http://localhost:$port" "$work/var" "$pictures" "$@" || status=$?
stop_server

case "$*" in "" | *malware*) # on a server with a scanner
  scanner=$(free_port)
  node test/web/clamd.mjs "$scanner" &
  at_exit end $!
  port=$(free_port)
  CONSIGN_SCANNER_URL="clamd://127.0.0.1:$scanner" CONSIGN_RATE_LIMIT=off start_server "$work/scanned" "$port" "$(free_port)" --demo
  node test/web/inspection.mjs "http://localhost:$port" "$work/scanned" "$pictures" "$@" || status=$?
  ;;
esac
if [ "${SCREENSHOTS:-}" = on ]; then
  for shown in docs/screenshots/*.png; do cp "$pictures/${shown##*/}" "$shown" || fail "$pictures has no ${shown##*/}"; done
  if command -v pngquant >/dev/null 2>&1; then # reduces the size to a third without visible loss
    pngquant --force --ext .png --skip-if-larger docs/screenshots/*.png || [ $? -eq 98 ]
  fi
fi
exit "$status"
