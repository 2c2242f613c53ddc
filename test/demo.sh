#!/usr/bin/env bash
# Shows upload and download with curl only. A stranger uploads a 100 MB file to the demo mailbox, is interrupted and resumes. The owner
# downloads the file and compares it. Then the owner sends two files with a password; a recipient without an account downloads them
# as a zip. Uses the server at $DEMO_URL (default http://localhost:8080) with its data in $CONSIGN_DATA_DIR (default ./var). If none
# runs there, it starts one for this run.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl
need unzip unzip

url=${DEMO_URL:-http://localhost:8080}
data=${CONSIGN_DATA_DIR:-$root/var}
if curl -fs -o /dev/null "$url/readyz" && [ -f "$data/demo.txt" ]; then
  step "Using the server at $url"
else
  port=$(free_port) url="http://localhost:$port" data="$work/var"
  step "Starting a server for this run at $url"
  start_server "$data" "$port" "$(free_port)" --demo
fi
transfer="$url/transfer/v2" identity="$url/id/v3"
email=$(sed -n 's/^email: *//p' "$data/demo.txt") password=$(sed -n 's/^password: *//p' "$data/demo.txt")

step "1. A stranger looks at the mailbox"
call GET "$transfer/public/mailbox/demo"

step "2. … and opens a reservation on it"
reservation=$(call POST "$transfer/public/mailbox/demo" -H 'Content-Type: application/json' \
  -d '{"subject":"Holiday pictures","message":"As promised.","anonSender":"Sam Stranger","anonEmail":"sam@example.com"}')
token=$(header Authorization "$work/head")
echo "$reservation"
uid=$(member uid <<<"$reservation")
# The response also contains the uids of recipients, in no guaranteed order. The Location header ends with the reservation's uid.
location=$(header Location "$work/head")
[ -z "$location" ] || uid=${location##*/}

step "3. … attaches a file of 100 MB"
size=100000000
head -c $size /dev/urandom >"$work/pictures.bin"
sum=$(sha256 "$work/pictures.bin")
object="$transfer/reservations/$uid/objects"
call POST "$object" -H "Authorization: $token" -H 'Content-Type: application/json' \
  -d "{\"clientId\":\"pictures\",\"name\":\"pictures.bin\",\"intendedSize\":$size}"
content="$object/pictures/content"

chunk() { # chunk FROM TO [curl arguments]
  local from=$1 to=$2
  shift 2
  send_range "$work/pictures.bin" "$from" "$to" "$content" "$token" "$@"
}

step "4. First chunk: 40 MB"
chunk 0 40000000
step "5. Second chunk: 30 MB, the connection breaks after one second"
chunk 40000000 70000000 --limit-rate 12M --max-time 1 || echo "(interrupted)"
offset=$(held "$content" "$token")
for _ in 1 2 3 4 5; do # the server may not have noticed the broken connection yet
  sleep 0.3
  now=$(held "$content" "$token")
  [ "$now" = "$offset" ] && break
  offset=$now
done
echo "the server has stored $offset of $size bytes"
[ "$offset" -ge 40000000 ] && [ "$offset" -lt 70000000 ] || fail "the stored offset is $offset, want 40000000 to 69999999"
step "6. The rest of the second chunk, from the stored offset"
chunk "$offset" 70000000
step "7. Third chunk: 30 MB"
chunk 70000000 $size

step "8. The stranger confirms"
call POST "$transfer/reservations/$uid/confirm" -H "Authorization: $token"

step "9. The owner signs in as $email"
access=$(sign_in "$identity" "$email" "$password")

step "10. … finds the transfer on top of the inbox"
call GET "$transfer/transfers?location=received&limit=1" -H "Authorization: Bearer $access" >"$work/list"
cat "$work/list"
received=$(sed -E 's/.*"transfers":\[\{"uid":"([^"]+)".*/\1/' "$work/list")
call GET "$transfer/transfers/$received" -H "Authorization: Bearer $access" >"$work/transfer"
file=$(sed -E 's/.*"objects":\[\{"uid":"([^"]+)".*/\1/' "$work/transfer")
grep -q "$sum" "$work/transfer" || fail "the transfer does not contain SHA-256 $sum"

step "11. … and downloads it, in two ranges"
curl -sS -f -H "Authorization: Bearer $access" -r 0-59999999 -o "$work/got" "$transfer/transfers/$received/objects/$file/content"
curl -sS -f -H "Authorization: Bearer $access" -r 60000000- "$transfer/transfers/$received/objects/$file/content" >>"$work/got"
got=$(sha256 "$work/got")
echo "sent     $sum"
echo "received $got"
[ "$sum" = "$got" ] || fail "the file differs"

newest() { # newest TEMPLATE [TEXT]: waits for a mail of that template that contains TEXT, prints the newest; names sort by time
  local mail=""
  for _ in $(seq 100); do
    mail=$(find "$data/mail" -name "*-$1.eml" -newer "$work/pictures.bin" -exec grep -l -e "${2:-}" {} + 2>/dev/null | sort | tail -n 1)
    [ -z "$mail" ] || { echo "$mail"; return; }
    sleep 0.2
  done
  fail "no $1 mail arrived in $data/mail within 20 s"
}
envelope() { echo "-- $1"; tr -d '\r' <"$1" | sed '/^$/q' | grep -iE '^(from|reply-to|to|subject|message-id):'; }

step "12. The two mails: to the owner, and to the stranger"
envelope "$(newest transfer-delivered)"
envelope "$(newest upload-confirmation)"

step "13. The owner sends two files, protected by a password"
recipient="rita+$RANDOM@example.com"
reservation=$(call POST "$transfer/reservations" -H "Authorization: Bearer $access" -H 'Content-Type: application/json' \
  -d "{\"subject\":\"For you\",\"protection\":\"password\",\"password\":\"open sesame\",\"recipients\":[{\"email\":\"$recipient\",\"destinationType\":\"to\"}]}")
echo "$reservation"
location=$(header Location "$work/head")
printf 'Dear Rita,\nhere they are.\n' >"$work/letter.txt"
for file in pictures.bin letter.txt; do
  call POST "$location/objects" -H "Authorization: Bearer $access" -H 'Content-Type: application/json' \
    -d "{\"clientId\":\"$file\",\"name\":\"$file\",\"intendedSize\":$(wc -c <"$work/$file" | tr -d ' ')}"
  call PUT "$location/objects/$file/content" -H "Authorization: Bearer $access" -H 'Content-Type: application/octet-stream' -T "$work/$file"
done
call POST "$location/confirm" -H "Authorization: Bearer $access" >/dev/null

step "14. The recipient opens the link from the mail; the files are hidden until the password is given"
mail=$(newest transfer-delivered "$recipient")
envelope "$mail"
key=$(tr -d '\r' <"$mail" | sed -e ':a' -e '/=$/{N;s/=\n//;ba' -e '}' | sed -nE 's,.*/t/([A-Za-z0-9_-]+).*,\1,p' | head -n 1)
public="$transfer/public/transfers/$key"
call GET "$public"
wrong=$(curl -sS -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -d '{"password":"sesame open"}' "$public/access")
[ "$wrong" = 401 ] || fail "a wrong password answered $wrong"

step "15. … enters the password and downloads all files as one zip"
download=$(call POST "$public/access" -H 'Content-Type: application/json' -d '{"password":"open sesame"}' | member token)
curl -sS -f -H "Authorization: Bearer $download" -o "$work/all.zip" "$public/archive"
unzip -t "$work/all.zip"
unzip -q -d "$work/unpacked" "$work/all.zip"
[ "$(sha256 "$work/unpacked/pictures.bin")" = "$sum" ] || fail "the file in the zip differs"
cmp "$work/unpacked/letter.txt" "$work/letter.txt" || fail "the letter in the zip differs"

step "Done: all downloads match the uploads."
