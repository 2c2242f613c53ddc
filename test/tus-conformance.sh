#!/usr/bin/env bash
# The conformance files for tus of https://github.com/sagikazarmark/tus-conformance-tests, unmodified, by hurl, each against a reservation
# of its own. Those of the list below must fail, all others succeed. TUS_CONFORMANCE is a directory with the files; without it, they are
# cloned.
. "$(dirname "$0")/lib.sh"
cd "$root"
command -v hurl >/dev/null || fail "hurl is missing: install it from https://hurl.dev (Debian has it from 14 on) and run this again"
need git git
files=${TUS_CONFORMANCE:-}
if [ -z "$files" ]; then
  files=$work/suite
  git clone -q --depth 1 https://github.com/sagikazarmark/tus-conformance-tests "$files" ||
    fail "the files cannot be cloned: set TUS_CONFORMANCE to a directory of https://github.com/sagikazarmark/tus-conformance-tests"
fi

# file, and why it does not succeed
known='ext-csum-004-mismatch-460 sends a sum of 21 bytes as SHA-1, which is 400 and not a mismatch
ext-csum-005-no-offset-update the same
ext-csum-008-retry-after-failure the same
scn-error-002-checksum-failure the same
ext-concat-uf-001-incomplete-partials joins partial uploads that are not finished, an extension that the server does not name
ext-concat-uf-002-offset-updates the same
ext-concat-007-partials-complete expects 400 where 409 says that a partial upload is not finished
ext-csum-tr-001-checksum-trailer wants an extension that the server does not name
ext-csum-tr-002-chunked-encoding the same'

port=$(free_port)
export CONSIGN_RATE_LIMIT=off CONSIGN_NEW_TRANSFER_BUCKET=100000,1000/1s CONSIGN_STRANGER_RESERVATIONS=10000 CONSIGN_STRANGER_SHARE=100
start_server "$work/var" "$port" "$(free_port)" --demo
passed=0 wrong=()
while IFS= read -r file; do
  name=$(basename "$file" .hurl)
  reserve "http://localhost:$port/transfer/v2" "$name"
  if hurl --test --no-color --variable tus_version=1.0.0 --variable "base_url=$reservation/tus" --header "Authorization: $token" "$file" \
    >"$work/hurl.log" 2>&1; then
    passed=$((passed + 1))
    ! grep -q "^$name " <<<"$known" || wrong+=("$name succeeds, and is in the list")
  elif ! grep -q "^$name " <<<"$known"; then
    wrong+=("$name: $(grep -m 1 -A 12 '^error' "$work/hurl.log")")
  fi
done < <(find "$files/tests" -name '*.hurl' | sort)
printf '%s\n' ${wrong[@]+"${wrong[@]}"}
[ ${#wrong[@]} = 0 ] || fail "${#wrong[@]} files differ from the list"
[ "$passed" -gt 0 ] || fail "$files has no file"
echo "ok: $passed files, $(grep -c . <<<"$known") known to differ"
works tus-conformance-tests "hurl $(hurl --version | sed -n '1s/hurl \([0-9.]*\).*/\1/p')" \
  "$passed files succeed, $(grep -c . <<<"$known") are known not to"
