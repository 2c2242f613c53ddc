#!/usr/bin/env bash
# GNU gettext's own check of the message catalogues.
. "$(dirname "$0")/lib.sh"
cd "$root"
need msgfmt gettext
go test -tags gettext -count=1 -run '^TestMsgfmt$' ./internal/i18n
