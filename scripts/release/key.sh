#!/usr/bin/env bash
# Publishes the release key: writes its public part beside this script, and the line about it in SECURITY.md and README.md. RELEASE_KEY
# names the file with the secret key, outside of the repository; it is made, with a password, if it does not exist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fail() { printf 'make release-key: %s\n' "$*" >&2; exit 1; }
tool() { GOFLAGS='' go tool -modfile=scripts/release/tools.mod "$@"; }
: "${RELEASE_KEY:?make release-key: RELEASE_KEY is not set: the file of the secret key}"
case $(realpath -m "$RELEASE_KEY") in "$PWD"/*) fail "$RELEASE_KEY is in the repository, where a secret key must not be" ;; esac
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
umask 077
[ -e "$RELEASE_KEY" ] || tool minisign -G -p "$stage/new.pub" -s "$RELEASE_KEY"
cp "$RELEASE_KEY" "$stage/key"
tool minisign -C -W -s "$stage/key" # asks for the password of this copy
umask 022
go run ./scripts/release/sign -key "$stage/key" -public scripts/release/release >"$stage/line"
for document in SECURITY.md README.md; do
  [ "$(grep -c '^Release key: ' $document)" = 1 ] || fail "$document has not one line about the release key"
  awk 'FNR == NR { line = $0; next } /^Release key: / { $0 = line } { print }' "$stage/line" $document >"$stage/document"
  cat "$stage/document" >$document
done
echo "commit scripts/release/release.pub, scripts/release/release.logkey, SECURITY.md and README.md"
