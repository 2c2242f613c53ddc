#!/usr/bin/env bash
# The command line of the original system, teambeamjs, unmodified: with CONSIGN_LEGACY_API=on it signs in, gets
# files of the inbox, and sends one under a password. npm does not have it: TEAMBEAM is a directory of its sources in which npm ci was run;
# without it, it is installed from its repository.
. "$(dirname "$0")/lib.sh"
cd "$root"
need node nodejs
need npm npm
client=${TEAMBEAM:-}
if [ -z "$client" ]; then
  mkdir "$work/npm"
  (cd "$work/npm" && npm install --silent --no-audit --no-fund --no-save github:skalio/teambeamjs) >"$work/npm.log" 2>&1 ||
    fail "no teambeamjs from https://github.com/skalio/teambeamjs: set TEAMBEAM to a directory of it ($(tail -n 1 "$work/npm.log"))"
  client=$work/npm/node_modules/teambeamjs
fi
[ -e "$client/dist/index.js" ] || fail "$client has no dist/index.js"

port=$(free_port)
export CONSIGN_LEGACY_API=on CONSIGN_RATE_LIMIT=off CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s
start_server "$work/var" "$port" "$(free_port)" --demo
server=http://localhost:$port
password=$(sed -n 's/^password: //p' "$work/var/demo.txt")
mkdir "$work/home"
teambeam() { env -u XDG_CONFIG_HOME HOME="$work/home" node "$client/dist/index.js" "$@" </dev/null; }

step "init"
teambeam init --host "$server" --email owner@example.com --password "$password"

step "download what a stranger has sent"
head -c 3000000 /dev/urandom >"$work/received.bin"
bin/consign send "$work/received.bin" --to "$server/m/demo" --from sam@example.com --subject Pictures -q >/dev/null
mkdir "$work/inbox"
teambeam download --dir "$work/inbox" --include-old --use-filename
find "$work/inbox" -type f -exec cmp -s {} "$work/received.bin" \; -print | grep -q . ||
  fail "no file of the inbox is what was sent: $(find "$work/inbox" -type f)"

step "upload"
head -c 60000000 /dev/urandom >"$work/sent.bin"
teambeam upload --to rita@example.org --subject Report --message "As asked" --ttl 7 --password s3cret-of-rita \
  "$work/sent.bin" | tee "$work/said"
grep -q "http://localhost:$port/transfer/get/" "$work/said" || fail "the client prints no link"
login=$(call POST "$server/id/v3/auth/login" -H 'Content-Type: application/json' \
  -d "{\"email\":\"owner@example.com\",\"type\":\"bcrypt\",\"key\":\"$password\"}" | member token)
access=$(call POST "$server/id/v3/auth/access" -H "Authorization: Bearer $login" | member token)
call GET "$server/transfer/v2/transfers?location=sent" -H "Authorization: Bearer $access" >"$work/outbox"
grep -q '"subject":"Report"' "$work/outbox" || fail "the owner's outbox lacks the transfer: $(cat "$work/outbox")"
grep -q "\"sha256\":\"$(sha256 "$work/sent.bin")\"" "$work/outbox" || {
  uid=$(member uid <"$work/outbox")
  call GET "$server/transfer/v2/transfers/$uid" -H "Authorization: Bearer $access" | grep -q "$(sha256 "$work/sent.bin")" ||
    fail "the bytes differ"
}
works teambeamjs "$(node -p 'require(process.argv[1]).version' "$client/package.json")" \
  "signs in, sends 60 MB in chunks under a password, gets the inbox"
echo ok
