#!/usr/bin/env bash
# Looks at every mail in Chromium, light and dark, at 600 and 390 pixels. The pictures are in var/mails.
. "$(dirname "$0")/lib.sh"
cd "$root"
command -v chromium >/dev/null 2>&1 || fail "chromium is missing: run make test-web once as root, or apt-get install chromium"
npm_ci test
mkdir "$work/mails"
CONSIGN_TEST_MAILS="$work/mails" go test ./internal/mail -run TestWriteMails -count=1
rm -rf var/mails
node test/mails.mjs "$work/mails" var/mails
