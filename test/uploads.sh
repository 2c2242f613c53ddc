#!/usr/bin/env bash
# Uploads by clients of other people's protocols against the built server: tus-js-client in node, through a network that is cut; curl with the
# requests of docs/uploads.md. Needs node. MB (200) is the size of the file.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test/uploads tus-js-client
need curl curl

port=$(free_port) public=$(free_port)
export CONSIGN_NEW_TRANSFER_BUCKET=200,1/1s CONSIGN_RATE_LIMIT=off
public_url="http://localhost:$public" start_server "$work/var" "$port" "$(free_port)" --demo
server=http://localhost:$public
MB=${MB:-200}
node test/clients/cut.mjs "$public" "$port" $((MB * 1000000 / 6)) 5 >"$work/cuts" &
at_exit end $!
for _ in $(seq 50); do curl -fs -o /dev/null "$server/readyz" && break; sleep 0.1; done

step "tus-js-client: $MB MB, cuts, and a later upload that goes on"
head -c $((MB * 1000000)) /dev/urandom >"$work/file"
node test/uploads/tus.mjs "$server" "$work/var/demo.txt" "$work/file" "$work/state.json"
[ "$(wc -l <"$work/cuts")" -ge 5 ] || fail "only $(wc -l <"$work/cuts") cuts"

step "the curl examples of docs/uploads.md"
head -c 3000000 /dev/urandom >"$work/report.pdf"
call POST "$server/transfer/v2/public/mailbox/demo" -H 'Content-Type: application/json' -d '{"anonSender":"Sam","anonEmail":"sam@example.com"}' >"$work/made"
reservation=$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).uid' "$work/made")
token=$(tr -d '\r' <"$work/head" | sed -n 's/^[Aa]uthorization: Bearer //p')
(cd "$work" && export SERVER="$server" RESERVATION="$reservation" TOKEN="$token" && sed -n '/^```sh curl$/,/^```$/p' "$root/docs/uploads.md" | grep -v '^```' >curl.sh && bash -euo pipefail curl.sh)
curl -fsS "$server/transfer/v2/reservations/$reservation" -H "Authorization: Bearer $token" >"$work/reservation.json"
grep -q '"contentLength":3000000,"intendedSize":3000000' "$work/reservation.json" || fail "the file of curl is not complete: $(cat "$work/reservation.json")"
echo "ok"
