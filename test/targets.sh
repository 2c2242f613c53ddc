#!/usr/bin/env bash
# Export targets at programs of others: rclone's WebDAV server, and versitygw for S3. A stranger's transfers of SIZE (20) MB, and one with
# hostile names, arrive in both with the same bytes.
. "$(dirname "$0")/lib.sh"
cd "$root"
need rclone rclone
need node nodejs
SIZE=${SIZE:-20}
unset TEST_S3_URL
start_s3
mkdir -p "$work/dav/inbox"
dav=$(free_port)
rclone serve webdav "$work/dav" --addr "127.0.0.1:$dav" --user ann --pass s3cret-of-ann >"$work/rclone.log" 2>&1 &
at_exit end $!

port=$(free_port)
export CONSIGN_WEBHOOK_ALLOW=127.0.0.0/8 CONSIGN_RATE_LIMIT=off CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s
start_server "$work/var" "$port" "$(free_port)" --demo
server=http://localhost:$port identity=http://localhost:$port/id/v3
password=$(sed -n 's/^password: //p' "$work/var/demo.txt")
login=$(call POST "$identity/auth/login" -H 'Content-Type: application/json' \
  -d "{\"email\":\"owner@example.com\",\"type\":\"bcrypt\",\"key\":\"$password\"}" | member token)
access=$(call POST "$identity/auth/access" -H "Authorization: Bearer $login" | member token)
target() { # target URL USER PASSWORD
  call POST "$identity/webhooks" -H "Authorization: Bearer $access" -H 'Content-Type: application/json' \
    -d "{\"url\":\"$1\",\"events\":[\"TRANSFER_RECEIVED\"],\"user\":\"$2\",\"password\":\"$3\"}" >/dev/null
}
target "webdav+http://127.0.0.1:$dav/inbox" ann s3cret-of-ann
s3=${TEST_S3_URL#*endpoint=http://} keys=${TEST_S3_URL#s3://} bucket=${TEST_S3_URL#*@}
target "s3+http://${s3%%&*}/${bucket%%\?*}/inbox?region=${TEST_S3_URL##*region=}" "${keys%%:*}" "$(expr "$keys" : '[^:]*:\([^@]*\)@')"

mkdir "$work/sent"
head -c $((SIZE * 1000000)) /dev/urandom >"$work/sent/large.bin"
for name in 'a b.txt' 'Ünï ço+dé%41.txt' '#hash?&.txt'; do head -c $((RANDOM + 1)) /dev/urandom >"$work/sent/$name"; done
touch "$work/sent/empty.txt"
bin/consign send "$work/sent"/* --to "$server/m/demo" --from sam@example.com -q >/dev/null || fail "consign send"

arrived() { # arrived DIRECTORY PROGRAM: waits until a folder with its manifest is there, and compares all bytes
  local manifest
  for _ in $(seq 300); do
    manifest=$(find "$1" -name manifest.json -path '*inbox*' 2>/dev/null | head -n 1)
    [ -z "$manifest" ] || break
    sleep 0.2
  done
  [ -n "$manifest" ] || fail "nothing arrived at $2: $(curl -fsS "$identity/webhooks" -H "Authorization: Bearer $access")"
  diff -r --exclude manifest.json "$work/sent" "$(dirname "$manifest")" || fail "$2 has other files"
  [ "$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).files.length' "$manifest")" = 5 ] ||
    fail "the manifest at $2: $(cat "$manifest")"
  echo "ok: $2"
}
arrived "$work/dav" rclone
works "rclone serve webdav" "$(debian_version rclone)" "an export target: 5 files, $SIZE MB, the same bytes"
arrived "$work/s3" versitygw
works versitygw "$(basename "$(versitygw)" | sed 's/versitygw-v//')" "an export target: 5 files, $SIZE MB, the same bytes"
