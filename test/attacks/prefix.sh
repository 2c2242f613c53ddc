#!/usr/bin/env bash
# Somebody with a /48 and 200 IPv4 addresses against 20 honest people: logins, resets, sign-ups, uploads, a mailbox. Prints a line for
# each, and fails when fewer than 95 percent of them succeed or they take more than three times as long as alone. Takes seven minutes.
. "$(dirname "$0")/../lib.sh"
cd "$root"
[ -x bin/consign ] || fail "bin/consign is missing: run make build, or make test-attacks, which does"
"${GO:-go}" test -tags campaign -count=1 -v -timeout 15m -run '^TestPrefixAttacker$' ./test/campaign \
  >"$work/out" 2>&1 || { cat "$work/out" >&2; fail "the prefix attacker"; }
grep '^row' "$work/out"
echo "ok: honest people pass"
