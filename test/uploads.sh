#!/usr/bin/env bash
# Uploads by clients of other people's protocols against the built server, through a network that is cut: tus-js-client in node and its own
# end-to-end suite, and the examples for curl, Python and Uppy (in Chromium, on a page of another site) of docs/use/uploads.md. Needs node,
# chromium and openssl. SIZE (100) is the size of the files in MB; 1000 is for a quiet machine.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test
need curl curl
need openssl openssl
need chromium chromium
SIZE=${SIZE:-100}

port=$(free_port) public=$(free_port)
export CONSIGN_NEW_TRANSFER_BUCKET=200,1/1s CONSIGN_RATE_LIMIT=off
public_url="http://localhost:$public" start_server "$work/var" "$port" "$(free_port)" --demo
server=http://localhost:$public
cutter=""
at_exit 'end "$cutter"'

network() { # network CUTS [RATE]: the public port leads to the server from now on, with so many cuts in SIZE, at RATE bytes a second
  [ -z "$cutter" ] || end "$cutter"
  : >"$work/cuts"
  node test/clients/cut.mjs "$public" "$port" $((SIZE * 1000000 / ($1 + 1) + 1)) "$@" >"$work/cuts" &
  cutter=$!
  for _ in $(seq 50); do curl -fs -o /dev/null "$server/readyz" && return; sleep 0.1; done
  fail "the network does not answer"
}

reserve() { # sets reservation and token
  call POST "$server/transfer/v2/public/mailbox/demo" -H 'Content-Type: application/json' -d '{"anonSender":"Sam","anonEmail":"sam@example.com"}' >"$work/made"
  reservation=$(node -p 'JSON.parse(fs.readFileSync(process.argv[1])).uid' "$work/made")
  token=$(tr -d '\r' <"$work/head" | sed -n 's/^[Aa]uthorization: Bearer //p')
}

complete() { # complete CLIENT: fails unless report.pdf is there with all its bytes
  curl -fsS "$server/transfer/v2/reservations/$reservation" -H "Authorization: Bearer $token" >"$work/reservation.json"
  grep -q '"contentLength":3000000,"intendedSize":3000000' "$work/reservation.json" || fail "the file of $1 is not complete: $(cat "$work/reservation.json")"
}

example() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$root/docs/use/uploads.md" | grep -v '^```'; } # example MARK: a block of docs/use/uploads.md

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -keyout "$work/key.pem" -out "$work/site.pem" 2>"$work/openssl.log" || fail "$(cat "$work/openssl.log")"

site=("$server" "$work/var" "$work/site.pem" "$work/key.pem")

step "tus-js-client: $SIZE MB, cuts, and a later upload that goes on"
head -c $((SIZE * 1000000)) /dev/urandom >"$work/file"
network 5
node test/uploads/tus.mjs "${site[@]}" "$work/file" "$work/state.json"
[ "$(wc -l <"$work/cuts")" -ge 5 ] || fail "only $(wc -l <"$work/cuts") cuts"

step "tus-js-client: $SIZE MB in three uploads at once, cuts, and a later upload that goes on"
network 5
node test/uploads/tus.mjs "${site[@]}" "$work/file" "$work/parallel.json" parallel
[ "$(wc -l <"$work/cuts")" -ge 5 ] || fail "only $(wc -l <"$work/cuts") cuts"

step "the curl example of docs/use/uploads.md"
head -c 3000000 /dev/urandom >"$work/report.pdf"
reserve
example 'sh curl' >"$work/curl.sh"
(cd "$work" && SERVER=$server RESERVATION=$reservation TOKEN=$token bash -euo pipefail curl.sh)
complete curl

step "the Python example of docs/use/uploads.md"
python=/usr/bin/python3 # Debian's: other programs of that name do not see its packages
[ "$(id -u)" != 0 ] || "$python" -c 'import tusclient' 2>/dev/null || apt-get install -y -q --no-install-recommends python3-tuspy >"$work/apt.log" 2>&1 || true
"$python" -c 'import tusclient' 2>/dev/null || fail "tuspy is missing: install python3-tuspy and run this again"
reserve
{ printf 'server, uid, token = "%s", "%s", "%s"\n' "$server" "$reservation" "$token"; example 'python tuspy'; } >"$work/upload.py"
(cd "$work" && "$python" upload.py)
complete tuspy

step "tus-js-client's own end-to-end suite, unmodified, in Chromium"
network 0
node test/uploads/suite.mjs "${site[@]}"

step "the Uppy example of docs/use/uploads.md in Chromium, on another site: $SIZE MB, cuts, and a reload"
network 5 $((SIZE * 200000)) # 5 s: Uppy tells progress twice a second, and the page is loaded again in the middle
node test/uploads/uppy.mjs "${site[@]}" "$work/file"
[ "$(wc -l <"$work/cuts")" -ge 5 ] || fail "only $(wc -l <"$work/cuts") cuts"
works "@uppy/tus, in Chromium" "$(npm_version @uppy/tus)" "$SIZE MB from another site under 5 cuts and a reload"
works curl "$(curl --version | sed -n '1s/curl \([0-9.]*\).*/\1/p')" "the example of uploads.md"
works tuspy "$(debian_version python3-tuspy)" "the example of uploads.md"
works tus-js-client "$(npm_version tus-js-client)" "$SIZE MB in one upload and in three at once, under cuts, continued later"
works "tus-js-client, its end-to-end suite in Chromium" "$(npm_version tus-js-client)" "2 of 2 specs"
echo "ok"
