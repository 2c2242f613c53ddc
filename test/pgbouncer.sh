#!/usr/bin/env bash
# Uploads, downloads and logins through PgBouncer in transaction pooling mode with four server connections, configured as in
# docs/use/operations.md. Fails if any code relies on session state of a connection.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl
need pgbouncer pgbouncer
export PATH="$(postgres_bin):$PATH" CONSIGN_LOG_FORMAT=text

start_postgres "$work"
pooler=$(free_port)
cat >"$work/pgbouncer.ini" <<INI
[databases]
consign = host=$work/postgres user=consign pool_size=4
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 100
stats_users = consign
pidfile = $work/pgbouncer/pid
logfile = $work/pgbouncer/log
ignore_startup_parameters = extra_float_digits
INI
chmod 644 "$work/pgbouncer.ini"
if [ "$(id -u)" = 0 ]; then install -d -o postgres "$work/pgbouncer"; else mkdir "$work/pgbouncer"; fi
as_postgres pgbouncer -q -d "$work/pgbouncer.ini"
at_exit 'kill "$(cat "$work/pgbouncer/pid")"'
for _ in $(seq 100); do
  (exec 3<>"/dev/tcp/127.0.0.1/$pooler") 2>/dev/null && break
  sleep 0.1
done

direct="postgres://consign@/consign?host=$work/postgres"
export CONSIGN_SECRET_KEY=$(head -c 32 /dev/urandom | base64) CONSIGN_LISTEN_DATABASE_URL=$direct
export CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s # the sixteen strangers share one client network, which gets a quarter
port=$(free_port) url="http://localhost:$port" data="$work/var"

step "Migrations, with a direct connection"
CONSIGN_DATABASE_URL=$direct CONSIGN_DATA_DIR=$data CONSIGN_PUBLIC_URL=$url bin/consign migrate up
export CONSIGN_DATABASE_URL="postgres://consign@127.0.0.1:$pooler/consign?default_query_exec_mode=cache_describe"
start_server "$data" "$port" "$(free_port)" --demo

step "Upload and download: test/demo.sh"
DEMO_URL=$url CONSIGN_DATA_DIR=$data test/demo.sh >"$work/demo.log" 2>&1 || { cat "$work/demo.log" >&2; tail -n 20 "$work/server.log" >&2; fail "test/demo.sh failed behind PgBouncer"; }
tail -n 3 "$work/demo.log"


step "Sixteen strangers upload one file each in parallel"
head -c 3000000 /dev/urandom >"$work/file.bin"
strangers=()
for n in $(seq 16); do
  (
    mkdir "$work/$n" && file="$work/file.bin" work="$work/$n" # each subshell needs its own directory for responses
    reserve "$url/transfer/v2" "File $n"
    attach "$file" file
    curl -sS -f -o /dev/null -T "$file" -H "Authorization: $token" "$content"
    call POST "$reservation/confirm" -H "Authorization: $token" | grep -q "$(sha256 "$file")"
  ) &
  strangers+=($!)
done
for stranger in "${strangers[@]}"; do wait "$stranger" || fail "an upload failed"; done
echo "delivered"

step "Signing out ends access within a second"
email=$(sed -n 's/^email: *//p' "$data/demo.txt") password=$(sed -n 's/^password: *//p' "$data/demo.txt")
id_token=$(call POST "$url/id/v3/auth/login" -H 'Content-Type: application/json' -d "{\"email\":\"$email\",\"type\":\"bcrypt\",\"key\":\"$password\"}" | member token)
access=$(call POST "$url/id/v3/auth/access" -H "Authorization: Bearer $id_token" | member token)
call GET "$url/id/v3/profile" -H "Authorization: Bearer $access" >/dev/null
call POST "$url/id/v3/auth/logout" -H "Authorization: Bearer $id_token" >/dev/null
sleep 1
status=$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $access" "$url/id/v3/profile")
[ "$status" = 401 ] || fail "one second after logout the access token got status $status instead of 401"

if grep -E 'level=(ERROR|WARN)' "$work/server.log"; then fail "the server logged errors or warnings"; fi
step "Done: all checks passed with PgBouncer $(pgbouncer --version | sed -n 's/^PgBouncer //p')"
