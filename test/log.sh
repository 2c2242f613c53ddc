#!/usr/bin/env bash
# Kills the server with SIGKILL while receipts are signed, rotates the key of the transparency log and restores an older database. A monitor
# keeps all checkpoints. At the end each of them must be a state of the same log, and each confirmed upload must have its receipt, which
# test/receipt.py accepts. ROUNDS=200 takes about half an hour; the default are 20 rounds.
. "$(dirname "$0")/lib.sh"
cd "$root"
need python3 python3
need openssl openssl
[ -x bin/consign ] || make -s build
rounds=${ROUNDS:-20}
port=$(free_port) admin=$(free_port) data="$work/var"
export CONSIGN_RATE_LIMIT=off CONSIGN_NEW_TRANSFER_BUCKET=200,200/1s CONSIGN_STRANGER_SHARE=100 CONSIGN_STRANGER_RESERVATIONS=10000 \
  CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS=10000
api="http://localhost:$port/transfer/v2"
mkdir -p "$work/checkpoints" "$work/receipts"
: >"$work/confirmed"

command_of() { CONSIGN_PUBLIC_URL="http://localhost:$port" CONSIGN_DATA_DIR="$data" bin/consign "$@"; }

monitor() { # keeps each checkpoint that it sees
  while :; do
    curl -fs -m 2 "http://localhost:$port/log/checkpoint" -o "$work/seen" 2>/dev/null &&
      mv "$work/seen" "$work/checkpoints/$(sha256sum <"$work/seen" | cut -c1-64)"
    sleep 0.05
  done
}

upload() { # delivers a file; notes reservation and token once the confirm was answered
  local head r token
  head=$(curl -fsi -m 5 "$api/public/mailbox/demo" -H 'Content-Type: application/json' -d '{"anonSender":"Sam","anonEmail":"sam@example.com","subject":"Log"}' | tr -d '\r') || return 0
  r=$(sed -n 's/^Location: //Ip' <<<"$head") token=$(sed -n 's/^Authorization: //Ip' <<<"$head")
  curl -fs -m 5 -o /dev/null "$r/objects" -H "Authorization: $token" -H 'Content-Type: application/json' -d '{"clientId":"a","name":"a.txt","intendedSize":5}' || return 0
  printf hello | curl -fs -m 5 -o /dev/null -X PUT --data-binary @- "$r/objects/a/content" -H "Authorization: $token" -H 'Content-Type: application/octet-stream' || return 0
  curl -fs -m 5 -o /dev/null -X POST "$r/confirm" -H "Authorization: $token" || return 0
  echo "$r $token" >>"$work/confirmed"
}

kill_server() { # SIGKILL for the server only; its Postgres goes on and is joined by the next one
  kill -KILL "$server_pid" 2>/dev/null || true
  wait "$server_pid" 2>/dev/null || true
  server_pid=""
}

start_server "$data" "$port" "$admin" --demo
monitor &
monitor_pid=$!
at_exit "kill $monitor_pid 2>/dev/null || true"
for round in $(seq "$rounds"); do
  uploads=()
  for _ in 1 2 3; do
    upload &
    uploads+=($!)
  done
  sleep "$((RANDOM % 3)).$((RANDOM % 10))"
  kill_server
  wait "${uploads[@]}" || true
  [ "$round" != $((rounds / 2)) ] || command_of log rotate >/dev/null
  start_server "$data" "$port" "$admin"
done
upload
[ -s "$work/confirmed" ] || fail "nothing was confirmed"

echo "fetching the receipts of $(wc -l <"$work/confirmed") confirmed uploads"
n=0
while read -r r scheme token; do
  for _ in $(seq 100); do
    status=$(curl -s -o "$work/receipt" -w '%{http_code}' "$r/receipt" -H "Authorization: $scheme $token")
    [ "$status" = 202 ] || break
    sleep 0.2
  done
  [ "$status" = 200 ] || fail "a confirmed upload has no receipt: $status"
  n=$((n + 1))
  mv "$work/receipt" "$work/receipts/$n.consign"
done <"$work/confirmed"
curl -fs "http://localhost:$port/log/keys" -o "$work/keys"
python3 test/receipt.py "$work/keys" "$work/receipts"
command_of log verify
size=$(sed -n 2p < <(curl -fs "http://localhost:$port/log/checkpoint"))
for tile in $(seq 0 $(((size - 1) / 256))); do
  width=$((size - tile * 256))
  [ "$width" -ge 256 ] && suffix="" || suffix=".p/$width"
  curl -fs "http://localhost:$port/log/tile/entries/$(printf '%03d' "$tile")$suffix" >>"$work/entries"
done

echo "restoring a database of before the last upload"
stop_server
cp -a "$data/postgres" "$work/older"
start_server "$data" "$port" "$admin"
upload
sleep 2
stop_server
rm -rf "$data/postgres"
mv "$work/older" "$data/postgres"
start_server "$data" "$port" "$admin"
upload
sleep 2
[ "$(sed -n 2p < <(curl -fs "http://localhost:$port/log/checkpoint"))" = "$size" ] || fail "the restored log has signed"
! command_of log status >"$work/status" 2>&1 || fail "consign log status finds nothing wrong with a restored log"
grep -q "consign log restart" "$work/status" || fail "consign log status does not say what to do"
command_of log restart
sleep 5
origin=$(sed -n 1p < <(curl -fs "http://localhost:$port/log/checkpoint"))
[[ "$origin" == localhost/* ]] || fail "the new log has the origin $origin"
kill $monitor_pid 2>/dev/null || true

python3 - "$work" <<'PY'
import base64, hashlib, os, sys
work = sys.argv[1]
data = open(work + "/entries", "rb").read()
leaves = []
while data:
    n = int.from_bytes(data[:2], "big")
    leaves.append(hashlib.sha256(b"\0" + data[2:2 + n]).digest())
    data = data[2 + n:]
def root(h):
    if not h:
        return hashlib.sha256(b"").digest()
    if len(h) == 1:
        return h[0]
    k = 1 << (len(h) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(h[:k]) + root(h[k:])).digest()
seen, roots = set(), {}
for name in os.listdir(work + "/checkpoints"):
    origin, size, hash_ = open(work + "/checkpoints/" + name, encoding="utf-8").read().split("\n")[:3]
    if origin != "localhost" or int(size) > len(leaves):
        continue
    seen.add(int(size))
    if base64.b64encode(root(leaves[:int(size)])).decode() != hash_:
        sys.exit(f"FAILED: the checkpoint of {size} entries is of another log")
if len(seen) < 2:
    sys.exit("FAILED: the monitor has seen too little")
print(f"{len(seen)} checkpoints of one log of {len(leaves)} entries")
PY
stop_server
echo "ok: $rounds rounds"
