#!/usr/bin/env bash
# Tests two cells (docs/develop/scale.md): two installations, each with a Postgres and a storage of its own, behind one Caddy that finds the
# cell by host name. Ann lives in cell A, Bob in cell B. One transfer goes across, in both directions; tokens stay in their cell; the loss
# of a cell leaves the other one alone.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl
need caddy caddy
[ -x bin/consign ] || make -s build

http_port=$(free_port)
a="http://a.localhost:$http_port" b="http://b.localhost:$http_port"
port_a=$(free_port) port_b=$(free_port)

start_cell() { # start_cell NAME PORT URL ADDRESS PERSON LINK: starts a cell with a person, who has a mailbox; sets server_pid and password
  export CONSIGN_TRUSTED_PROXIES=127.0.0.1 CONSIGN_REQUIRE_HTTPS=off
  public_url=$3 start_server "$work/$1" "$2" "$(free_port)"
  inside "$1" "$3" person create --name "$5" "$4" >"$work/person"
  password=$(first_password "http://localhost:$2/id/v3" <"$work/person")
  inside "$1" "$3" mailbox create "$4" "$6" >/dev/null
}
inside() { # inside NAME URL COMMAND…: an operator's command in a cell
  local name=$1 at=$2
  shift 2
  CONSIGN_DATA_DIR="$work/$name" CONSIGN_PUBLIC_URL="$at" bin/consign "$@"
}
mailed() { # mailed NAME PATTERN: prints the first match in the mails of a cell
  local found
  for _ in $(seq 100); do
    found=$(cat "$work/$1"/mail/*.eml 2>/dev/null | sed -e ':a' -e '/=\r\{0,1\}$/N; s/=\r\{0,1\}\n//; ta' -e 's/=3D/=/g' | grep -oE "$2" | head -n 1) || true
    [ -z "$found" ] || { echo "$found"; return; }
    sleep 0.1
  done
  fail "cell $1 sent no mail with $2"
}
status() { curl -s -o "$work/body" -w '%{http_code}' "$@"; }

step "1. Two cells start, and Caddy sends each host name to its cell"
start_cell a "$port_a" "$a" ann@example.com "Ann Archer" ann
pid_a=$server_pid password_a=$password
at_exit end "$pid_a"
start_cell b "$port_b" "$b" bob@example.com "Bob Baker" bob
pid_b=$server_pid password_b=$password
cat >"$work/Caddyfile" <<CONF
{
	admin off
	auto_https off
}
http://a.localhost:$http_port {
	reverse_proxy 127.0.0.1:$port_a
}
http://b.localhost:$http_port {
	reverse_proxy 127.0.0.1:$port_b
}
CONF
XDG_DATA_HOME="$work" XDG_CONFIG_HOME="$work" HOME="$work" caddy run --config "$work/Caddyfile" --adapter caddyfile >"$work/caddy.log" 2>&1 &
at_exit end $!
for _ in $(seq 50); do [ "$(status "$a/readyz")" = 200 ] && break; sleep 0.1; done
[ "$(status "$a/transfer/v2/public/mailbox/ann")" = 200 ] || fail "cell A does not know Ann's mailbox"
[ "$(status "$b/transfer/v2/public/mailbox/bob")" = 200 ] || fail "cell B does not know Bob's mailbox"
[ "$(status "$a/transfer/v2/public/mailbox/bob")" = 404 ] || fail "cell A knows Bob's mailbox"

step "2. Ann sends to Bob. His mail leads to her cell, where he needs no account"
head -c 3000000 /dev/urandom >"$work/plan.bin"
ann=$(sign_in "$a/id/v3" ann@example.com "$password_a")
call POST "$a/transfer/v2/reservations" -H "Authorization: Bearer $ann" -H 'Content-Type: application/json' \
  -d '{"subject":"Plan","recipients":[{"email":"bob@example.com","destinationType":"to"}]}' >/dev/null
token=$(header Authorization "$work/head")
reservation="$a/transfer/v2/reservations/$(header Location "$work/head" | sed 's,.*/,,')"
attach "$work/plan.bin" plan
send_range "$work/plan.bin" 0 3000000 "$content" "$token" >/dev/null
call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
link=$(mailed a "$a/t/[A-Za-z0-9_.-]+")
key=${link##*/}
token=$(call POST "$a/transfer/v2/public/transfers/$key/access" -H 'Content-Type: application/json' -d '{}' | member token)
object=$(call GET "$a/transfer/v2/public/transfers/$key" -H "Authorization: Bearer $token" | sed 's/.*"objects"//' | member uid)
call GET "$a/transfer/v2/public/transfers/$key/objects/$object/content" -H "Authorization: Bearer $token" >/dev/null
[ "$(sha256 "$work/body")" = "$(sha256 "$work/plan.bin")" ] || fail "Bob got other bytes"

step "3. Ann hands a file to Bob's mailbox in cell B as a stranger"
head -c 2000000 /dev/urandom >"$work/answer.bin"
call POST "$b/transfer/v2/public/mailbox/bob" -H 'Content-Type: application/json' \
  -d '{"subject":"Answer","anonSender":"Ann Archer","anonEmail":"ann@example.com"}' >/dev/null
token=$(header Authorization "$work/head")
reservation="$b/transfer/v2/reservations/$(header Location "$work/head" | sed 's,.*/,,')"
attach "$work/answer.bin" answer
send_range "$work/answer.bin" 0 2000000 "$content" "$token" >/dev/null
call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
bob=$(sign_in "$b/id/v3" bob@example.com "$password_b")
call GET "$b/transfer/v2/transfers?location=received" -H "Authorization: Bearer $bob" | grep -q '"subject":"Answer"' || fail "Bob's inbox lacks the file"

step "4. A token of one cell is nothing in the other"
[ "$(status -H "Authorization: Bearer $ann" "$b/id/v3/profile")" = 401 ] || fail "cell B accepts a token of cell A"
[ "$(status -H "Authorization: Bearer $bob" "$a/id/v3/profile")" = 401 ] || fail "cell A accepts a token of cell B"

step "5. Bob's cell invites Ann: she gets an account there, beside the one in her own cell"
uid=$(call POST "$b/id/v3/organizations" -H "Authorization: Bearer $bob" -H 'Content-Type: application/json' -d '{"name":"Bakers"}' | member uid)
bob=$(sign_in "$b/id/v3" bob@example.com "$password_b") # with the new role
call POST "$b/id/v3/organizations/$uid/invitations" -H "Authorization: Bearer $bob" -H 'Content-Type: application/json' -d '{"address":"ann@example.com","roles":[]}' >/dev/null
mailed b "$b/invitation/[A-Za-z0-9_.-]+" >/dev/null

step "6. Cell B is lost. Cell A goes on"
end "$pid_b"
server_pid=""
[ "$(status "$b/transfer/v2/public/mailbox/bob")" = 502 ] || fail "the proxy answers $(status "$b/readyz") for a cell that is gone"
[ "$(status "$a/transfer/v2/public/mailbox/ann")" = 200 ] || fail "cell A suffers from the loss of cell B"
[ "$(status -H "Authorization: Bearer $ann" "$a/transfer/v2/transfers?location=sent")" = 200 ] || fail "Ann cannot see what she sent"
printf '\nTwo cells work behind one proxy, and neither needs the other.\n'
