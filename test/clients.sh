#!/usr/bin/env bash
# The clients against a real server: the Go package and the command line do the main job; consign send sends GB (10) gigabytes under 20
# cuts of the network; consign receive --watch is killed KILLS (100) times and receives each file once; the TypeScript package does the
# main job in node. Needs node and GB of disk under $TMPDIR.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
need node nodejs
GB=${GB:-10} CUTS=${CUTS:-20} KILLS=${KILLS:-100}
cd "$root"
make -s consign-client
consign=$root/bin/consign-client
free=$(df -Pk "$work" | awk 'NR == 2 {print $4}')
[ "$free" -gt $((GB * 1000000 + 3000000)) ] || fail "$work has $((free / 1000000)) GB free, which is too little for GB=$GB: set a smaller GB"

step "the Go package and the command line, on servers of their own"
[ -n "${SKIP_GO:-}" ] || go test -count=1 ./client ./internal/cli ./cmd/consign-client

step "a server behind a network that is cut"
port=$(free_port) public=$(free_port)
export CONSIGN_RATE_LIMIT=off CONSIGN_NEW_TRANSFER_BUCKET=1000,1/1s
public_url="http://localhost:$public" start_server "$work/var" "$port" "$(free_port)" --demo
server=http://localhost:$public
bytes=$((GB * 1000000000))
node test/clients/cut.mjs "$public" "$port" $((bytes / (CUTS + 1))) "$CUTS" >"$work/cuts" &
at_exit end $!
for _ in $(seq 50); do curl -fs -o /dev/null "$server/readyz" && break; sleep 0.1; done
identity=$server/id/v3
password=$(sed -n 's/^password: //p' "$work/var/demo.txt")
id_token=$(call POST "$identity/auth/login" -H 'Content-Type: application/json' -d "{\"email\":\"owner@example.com\",\"type\":\"bcrypt\",\"key\":\"$password\"}" | member token)
api_token() { # api_token SCOPE: prints a new API token of the demo's owner
  call POST "$identity/tokens" -H "Authorization: Bearer $id_token" -H 'Content-Type: application/json' -d "{\"name\":\"test\",\"scopes\":[\"$1\"]}" | member token
}
machine() { # machine NAME COMMAND…: runs a command line with a home directory of its own
  local home=$work/$1
  shift
  mkdir -p "$home"
  env -u XDG_CONFIG_HOME -u XDG_STATE_HOME HOME="$home" "$@"
}

step "consign send: $GB GB under $CUTS cuts"
truncate -s "$bytes" "$work/large"
for at in $(seq 0 $((GB * 100 - 1))); do head -c 4096 /dev/urandom | dd of="$work/large" bs=4096 seek=$((at * 2440)) conv=notrunc status=none; done
before=$(date +%s)
machine sam "$consign" send "$work/large" --to "$server/m/demo" --from 'Sam <sam@example.com>' --json 2>"$work/sam.err" >"$work/sam.json" || { tail -n 5 "$work/sam.err" >&2; fail "consign send"; }
echo "$GB GB in $(($(date +%s) - before)) s with $(wc -l <"$work/cuts") cuts"
[ "$(wc -l <"$work/cuts")" = "$CUTS" ] || fail "$(wc -l <"$work/cuts") cuts instead of $CUTS"
[ "$(member sha256 <"$work/sam.json")" = "$(sha256 "$work/large")" ] || fail "the SHA-256 differs"
token=$(api_token transfers:read)
transfer=$(member transfer <"$work/sam.json")
machine owner env CONSIGN_SERVER="$server" CONSIGN_TOKEN="$token" "$consign" show "$transfer" | grep -q "$(sha256 "$work/large")" || fail "the owner sees another SHA-256"
rm "$work/large"
sender=$(api_token transfers:send)
machine owner env CONSIGN_SERVER="$server" CONSIGN_TOKEN="$sender" "$consign" revoke "$transfer"

step "consign receive --watch, killed $KILLS times"
mkdir "$work/out" "$work/taken"
(for n in $(seq $((KILLS / 2))); do
  for f in 1 2 3; do head -c $((RANDOM * 60)) /dev/urandom >"$work/out/$n-$f"; done
  machine sam "$consign" send "$work/out/$n-1" "$work/out/$n-2" "$work/out/$n-3" --to "$server/m/demo" --from sam@example.com --subject "number $n" -q >/dev/null 2>"$work/sam.err" ||
    { cat "$work/sam.err" >&2; touch "$work/unsent"; }
done) &
sending=$!
at_exit end $sending
watch() { machine owner env CONSIGN_SERVER="$server" CONSIGN_TOKEN="$token" "$consign" receive "$@" "$work/in"; }
watch -q >/dev/null # the examples of the demo are no part of the test
rm -r "$work/in"
take() { # moves received files on, as an intake does; a file that comes twice is an error
  local file
  find "$work/in" -type f -not -name '.*' -not -name transfer.json -print0 2>/dev/null | while IFS= read -r -d '' file; do
    [ ! -e "$work/taken/${file##*/}" ] || { echo "$file came twice"; touch "$work/twice"; }
    mv "$file" "$work/taken/${file##*/}"
  done
}
for n in $(seq "$KILLS"); do
  (cd "$work" && exec env -u XDG_STATE_HOME HOME="$work/owner" CONSIGN_SERVER="$server" CONSIGN_TOKEN="$token" "$consign" receive --watch -q --limit-rate 20M "$work/in") >>"$work/watch.log" 2>&1 &
  watching=$!
  sleep "0.$((RANDOM % 8 + 1))$((RANDOM % 10))"
  kill -9 "$watching" 2>/dev/null || { tail -n 5 "$work/watch.log" >&2; fail "the watch ended by itself"; }
  wait "$watching" 2>/dev/null || true
  [ $((n % 3)) != 0 ] || take
done
wait "$sending"
[ ! -e "$work/unsent" ] || fail "a send failed"
watch -q >/dev/null
take
[ ! -e "$work/twice" ] || fail "a file was received twice"
diff -rq "$work/out" "$work/taken" || fail "the received files differ"
[ -z "$(find "$work/in" -name '*.part')" ] || fail "parts are left"
echo "$(find "$work/taken" -type f | wc -l) files, each once and complete, after $KILLS kills"

step "the TypeScript package in node"
npm_ci clients/typescript
(cd clients/typescript && npm run --silent build && CONSIGN_URL=$server CONSIGN_TOKEN=$token CONSIGN_SEND_TOKEN=$sender \
  CONSIGN_REQUEST_TOKEN=$(api_token requests:manage) npm test --silent)

for more in test/clients/*.sh; do # such as webhooks.sh, which starts a server of its own
  [ -e "$more" ] || continue
  step "$more"
  "$more"
done
