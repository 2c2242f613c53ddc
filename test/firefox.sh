#!/usr/bin/env bash
# Tests the main journeys of the web client in Debian's Firefox, driven by playwright-core through WebDriver BiDi, against a private
# server: sign-up, mailbox, uploads with interruptions, downloads, protection, settings, and axe on every page.
. "$(dirname "$0")/lib.sh"
cd "$root"
need firefox-esr firefox-esr
npm_ci test

CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s CONSIGN_STRANGER_SHARE=100 start_server_with_provider
mkdir "$work/pictures"
BROWSER=firefox FIREFOX=$(command -v firefox-esr) node test/web/firefox.mjs "http://localhost:$port" "$work/var" "$work/pictures" "$@"
