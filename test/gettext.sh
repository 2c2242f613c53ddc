#!/usr/bin/env bash
# Checks the message catalogues with GNU gettext's msgfmt.
. "$(dirname "$0")/lib.sh"
cd "$root"
need msgfmt gettext
go test -tags gettext -count=1 -run '^TestMsgfmt$' ./internal/i18n
