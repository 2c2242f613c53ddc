#!/usr/bin/env bash
# Tests a full disk, with files and the private Postgres on one small tmpfs. Below the storage floor uploads get 503, below half
# of it so does what makes rows. Sign-in still works, and /readyz reports degraded.
source "$(dirname "$0")/lib.sh"
trap cleanup EXIT
[ "$(id -u)" = 0 ] || fail "mounting a tmpfs needs root: run this as root"
need curl curl
need mount mount
data=$work/data
mkdir -p "$data"
mount -t tmpfs -o size=400m,mode=755 tmpfs "$data" || fail "a tmpfs cannot be mounted: run this where mount(2) is allowed"
at_exit umount -l "$data"

export CONSIGN_STORAGE_FLOOR=100MiB CONSIGN_RATE_LIMIT=off CONSIGN_NEW_TRANSFER_BUCKET=200,1/1s # one client network gets a quarter of the bucket
port=$(free_port) admin=$(free_port)
start_server "$data" "$port" "$admin" --demo
url=http://localhost:$port
free() { df --output=avail -B1 "$data" | tail -1 | tr -d ' '; }
status() { curl -s -o "$work/body" -D "$work/head" -w '%{http_code}' "$@"; }

head -c 20000000 /dev/zero >"$work/file"
code=200 files=0
while [ "$code" = 200 ] && [ "$files" -lt 30 ]; do
  [ "$(status -X POST "$url/transfer/v2/public/mailbox/demo" -H 'Content-Type: application/json' \
    -d '{"subject":"full","anonSender":"Sam","anonEmail":"sam@example.com"}')" = 201 ] || fail "no reservation: $(cat "$work/body")"
  token=$(sed -n 's/^[Aa]uthorization: Bearer \([^\r]*\).*/\1/p' "$work/head")
  uid=$(sed -n 's/^[Ll]ocation: .*\/\([^\r]*\).*/\1/p' "$work/head")
  at=$url/transfer/v2/reservations/$uid/objects
  [ "$(status -X POST "$at" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
    -d '{"clientId":"a","name":"x.bin","intendedSize":20000000}')" = 201 ] || fail "no object: $(cat "$work/body")"
  code=$(status -T "$work/file" "$at/a/content" -H "Authorization: Bearer $token")
  files=$((files + 1))
done
[ "$code" = 503 ] || fail "upload $files answered $code: $(cat "$work/body")"
grep -q 503010 "$work/body" || fail "the 503 response lacks code 503010: $(cat "$work/body")"
grep -qi '^retry-after: [1-9]' "$work/head" || fail "the 503 response has no Retry-After"
[ "$(free)" -gt 70000000 ] || fail "only $(free) bytes are left free"
head -c 30000000 /dev/zero >"$data/others" # another program uses space on the volume
sleep 6 # the server measures every 5 s
curl -fs "http://127.0.0.1:$admin/readyz" >"$work/ready" && grep -q '^degraded: ' "$work/ready" || fail "/readyz does not report degraded"
curl -fs "http://127.0.0.1:$admin/metrics" >"$work/metrics" && grep -q '^consign_storage_free_bytes ' "$work/metrics" || fail "the metric consign_storage_free_bytes is missing"
grep -q 'uploads are refused' "$work/server.log" || fail "the log does not mention refused uploads"

python3 - >"$work/objects" <<'PY'
import json
print(json.dumps({"objects": [{"clientId": f"o{i}", "name": f"{i}-" + "n" * 750, "intendedSize": 0} for i in range(1000)]}))
PY
code=201 rows=0
while [ "$code" = 201 ] && [ "$rows" -lt 45000 ]; do # names of empty files fill the database, until the second floor of 50 MiB
  code=$(status -X POST "$url/transfer/v2/public/mailbox/demo" -H 'Content-Type: application/json' -d '{}')
  [ "$code" = 201 ] || break
  token=$(sed -n 's/^[Aa]uthorization: Bearer \([^\r]*\).*/\1/p' "$work/head")
  uid=$(sed -n 's/^[Ll]ocation: .*\/\([^\r]*\).*/\1/p' "$work/head")
  code=$(status -X POST "$url/transfer/v2/reservations/$uid/objects" -H "Authorization: Bearer $token" -H 'Content-Type: application/json' \
    -d "@$work/objects")
  rows=$((rows + 1000))
done
[ "$code" = 503 ] && grep -q 503001 "$work/body" || fail "after $rows rows the answer is $code: $(cat "$work/body")"
[ "$(free)" -gt 35000000 ] || fail "only $(free) bytes are left free by rows"
sleep 6
curl -fs "http://127.0.0.1:$admin/readyz" | grep -q 'new transfers, accounts and webhooks are refused' || fail "/readyz does not name the second floor"

email=$(sed -n 's/^email: *//p' "$data/demo.txt") password=$(sed -n 's/^password: *//p' "$data/demo.txt")
[ "$(status -X POST "$url/id/v3/auth/login" -H 'Content-Type: application/json' \
  -d "{\"email\":\"$email\",\"type\":\"bcrypt\",\"key\":\"$password\"}")" = 200 ] || fail "sign-in: $(cat "$work/body")"
grep -q 'No space left' "$data/postgres/postgres.log" 2>/dev/null && fail "Postgres ran out of space"
echo "ok: refused after $files files of 20 MB, and $rows rows, with $(free) bytes free; sign-in works, /readyz reports degraded"
