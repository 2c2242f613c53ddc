#!/usr/bin/env bash
# Helpers for the scripts in test/: start and stop a private server, call its API, read JSON with sed and grep only.
# Scripts source this file; run as a program, it calls the function that its arguments name (test/lib.sh need curl curl). All data lies under $work. Each started process is stopped by its process id.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/consign-test.XXXXXX")
chmod 755 "$work" # as root, user postgres must be able to enter it
server_pid=""

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

need() { # need PROGRAM PACKAGE: installs PROGRAM when run as root on Debian; fails when it is still missing
  command -v "$1" >/dev/null 2>&1 && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing $1 (apt-get install $2)" >&2
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$2"; } >"$work/apt.log" 2>&1 || true
  fi
  command -v "$1" >/dev/null 2>&1 || fail "$1 is missing: install $2 and run this again"
}

works() { # works NAME VERSION RESULT: notes a program of others that has worked, for docs/interoperability.md (scripts/figure.sh)
  [ -z "${FIGURE:-}" ] || printf '| %s | %s | %s |\n' "$@" >>"$FIGURE"
}

npm_version() { # npm_version PACKAGE [DIR]: prints the version that DIR (test) has
  node -p 'require(require("path").resolve(process.argv[1])).version' "$root/${2:-test}/node_modules/$1/package.json"
}

debian_version() { dpkg-query -W -f '${source:Upstream-Version}' "$1" 2>/dev/null || echo unknown; } # debian_version PACKAGE

free_port() { # an unused TCP port on loopback, of the range of package freeport
  local p
  for _ in $(seq 100); do
    p=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
  done
  fail "no free port"
}

start_server() { # start_server DATA_DIR PORT ADMIN_PORT [ARG…]: sets server_pid and waits until ready; $public_url overrides the public URL (behind a proxy)
  local data=$1 port=$2 admin=$3
  shift 3
  need curl curl
  CONSIGN_PUBLIC_URL="${public_url:-http://localhost:$port}" CONSIGN_LISTEN="127.0.0.1:$port" CONSIGN_ADMIN_LISTEN="127.0.0.1:$admin" \
    CONSIGN_DATA_DIR="$data" "$root/bin/consign" serve "$@" >>"$work/server.log" 2>&1 &
  server_pid=$!
  for _ in $(seq 300); do
    curl -fs -o /dev/null "http://localhost:$port/readyz" && return
    kill -0 "$server_pid" 2>/dev/null || { tail -n 20 "$work/server.log" >&2; fail "the server exited during start"; }
    sleep 0.1
  done
  tail -n 20 "$work/server.log" >&2
  fail "the server was not ready within 30 s"
}

unit_pid=""
# start_unit CHROOT URL: runs the installed service in CHROOT by user, environment and command of its unit, until URL/readyz is 200.
start_unit() {
  local unit=$1/usr/lib/systemd/system/consign.service user command
  user=$(sed -n 's/^User=//p' "$unit")
  command=$(sed -n 's/^ExecStart=//p' "$unit")
  (
    set -a
    eval "$(sed -n 's/^Environment=//p' "$unit")"
    set +a
    # shellcheck disable=SC2086 # the command of a unit is split into words
    exec chroot --userspec="$user:$user" "$1" $command --env-file "$(sed -n 's/^EnvironmentFile=//p' "$unit")"
  ) >>"$work/service.log" 2>&1 &
  unit_pid=$!
  for _ in $(seq 300); do
    curl -fs -o /dev/null "$2/readyz" && return
    kill -0 "$unit_pid" 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$work/service.log" >&2
  fail "the service did not start"
}

stop_unit() {
  [ -n "$unit_pid" ] || return 0
  end "$unit_pid"
  unit_pid=""
}

former_commit() { # prints the commit from which upgrades are tested
  local former
  former=$(cat "$root/test/upgrade/BASE")
  git -C "$root" cat-file -e "$former^{commit}" 2>/dev/null || fail "commit $former is missing: this test needs the whole history, run git fetch --unshallow"
  git -C "$root" rev-parse --short "$former"
}

npm_ci() { # npm_ci DIR: installs the packages of DIR (test, or clients/typescript) unless they are there and package-lock.json is older
  need node nodejs
  need npm npm
  if [ ! -d "$1/node_modules" ] || [ "$1/package-lock.json" -nt "$1/node_modules" ]; then
    (cd "$1" && npm ci --silent --no-audit --no-fund && touch node_modules)
  fi
}

start_server_with_provider() { # starts a server with a demo and an external provider; sets port and IDP_PORT, where the test listens
  port=$(free_port)
  IDP_PORT=$(free_port)
  export IDP_PORT
  cat >"$work/clients.json" <<JSON
[{"type": "keycloak", "issuer": "http://127.0.0.1:$IDP_PORT", "clientId": "consign",
  "clientSecret": "secret-of-consign-at-the-test-provider", "name": "Test provider"}]
JSON
  CONSIGN_RATE_LIMIT=off CONSIGN_OIDC_CLIENTS="$work/clients.json" start_server "$work/var" "$port" "$(free_port)" --demo
}

stop_server() { # SIGTERM, then wait
  [ -n "$server_pid" ] || return 0
  kill -TERM "$server_pid" 2>/dev/null || true
  wait "$server_pid" 2>/dev/null || true
  server_pid=""
}

endings=() # cleanup commands, newest first
at_exit() { endings=("$*" ${endings[@]+"${endings[@]}"}); }

# start_s3 starts a private versitygw and sets TEST_S3_URL (s3://KEY:SECRET@bucket?endpoint=…&region=…) to a bucket in it. It does
# nothing when TEST_S3_URL is already set.
start_s3() {
  [ -z "${TEST_S3_URL:-}" ] || return 0
  local gateway port pid
  gateway=$(versitygw)
  port=$(free_port)
  mkdir -p "$work/s3/consign"
  ROOT_ACCESS_KEY=consign ROOT_SECRET_KEY=consign-secret "$gateway" --port "127.0.0.1:$port" --region us-east-1 --keep-alive --quiet \
    posix "$work/s3" >"$work/s3.log" 2>&1 &
  pid=$!
  at_exit end "$pid"
  for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    kill -0 "$pid" 2>/dev/null || { cat "$work/s3.log" >&2; fail "versitygw exited during start (its directory needs extended attributes: set TMPDIR to a file system that has them)"; }
    sleep 0.1
  done
  export TEST_S3_URL="s3://consign:consign-secret@consign?endpoint=http://127.0.0.1:$port&region=us-east-1"
}

cleanup() {
  local status=$? ending
  set +e
  stop_server
  for ending in ${endings[@]+"${endings[@]}"}; do eval "$ending"; done
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

step() { printf '\n\033[1m%s\033[0m\n' "$*"; }

call() { # call METHOD URL [curl arguments]: prints the response body, writes headers to $work/head; fails on status 400 or higher
  local method=$1 target=$2
  shift 2
  local status
  status=$(curl -sS ${curl_options[@]+"${curl_options[@]}"} -X "$method" -D "$work/head" -o "$work/body" -w '%{http_code}' "$@" "$target")
  [ "$status" -lt 400 ] || { cat "$work/body" >&2; fail "$method $target answered $status"; }
  cat "$work/body"
}
curl_options=() # extra curl arguments of every call, such as --cacert

send_range() { # send_range FILE FROM TO URL TOKEN [curl arguments]: uploads bytes FROM to TO-1 of an object
  local file=$1 from=$2 to=$3 target=$4 token=$5 size
  shift 5
  size=$(wc -c <"$file")
  { tail -c +$((from + 1)) "$file" || true; } 2>/dev/null | head -c $((to - from)) >"$work/range"
  curl -sS -f ${curl_options[@]+"${curl_options[@]}"} -X PUT -H "Authorization: $token" -H "Content-Range: bytes $from-$((to - 1))/${size// /}" \
    -H 'Content-Type: application/octet-stream' -T "$work/range" "$@" "$target"
}

held() { # held URL TOKEN: prints the number of bytes of an object that are stored durably
  curl -sS -f ${curl_options[@]+"${curl_options[@]}"} -I -H "Authorization: $2" "$1" | tr -d '\r' | sed -nE 's/^content-length: //Ip'
}

reserve() { # reserve TRANSFER_API SUBJECT: creates an anonymous reservation on the demo mailbox; sets reservation (its URL) and token
  call POST "$1/public/mailbox/demo" -H 'Content-Type: application/json' \
    -d "{\"subject\":\"$2\",\"anonSender\":\"Sam Stranger\",\"anonEmail\":\"sam@example.com\"}" >/dev/null
  token=$(header Authorization "$work/head")
  reservation="$1/reservations/$(header Location "$work/head" | sed 's,.*/,,')"
}

attach() { # attach FILE CLIENT_ID: adds an object for FILE to the reservation; sets content (the URL of its bytes)
  local size
  size=$(wc -c <"$1")
  call POST "$reservation/objects" -H "Authorization: $token" -H 'Content-Type: application/json' \
    -d "{\"clientId\":\"$2\",\"name\":\"$(basename "$1")\",\"intendedSize\":${size// /}}" >/dev/null
  content="$reservation/objects/$2/content"
}

sign_in() { # sign_in IDENTITY_API EMAIL PASSWORD: prints an access token
  local id_token
  set -e # a command substitution has it no longer: the first error must be the last
  id_token=$(call POST "$1/auth/login" -H 'Content-Type: application/json' -d "{\"email\":\"$2\",\"type\":\"bcrypt\",\"key\":\"$3\"}" | member token)
  call POST "$1/auth/access" -H "Authorization: Bearer $id_token" | member token
}

first_password() { # first_password IDENTITY_API: reads the answer of consign person create, sets a password by its link and prints it
  local key id_token access uid password="a first password of tests"
  set -e
  key=$(sed -n 's|^link: .*/reset/||p')
  id_token=$(call POST "$1/auth/reset/$key" | member token)
  access=$(call POST "$1/auth/access" -H "Authorization: Bearer $id_token" | member token)
  uid=$(call GET "$1/profile/authenticators" -H "Authorization: Bearer $access" | member uid)
  call PUT "$1/profile/authenticators/$uid" -H "Authorization: Bearer $access" -H 'Content-Type: application/json' \
    -d "{\"pubKey\":\"$password\"}" >/dev/null
  echo "$password"
}

member() { # member NAME <<<JSON: prints the first string, number, boolean or null with that name
  grep -oE "\"$1\":(\"[^\"]*\"|[0-9.]+|true|false|null)" | head -n 1 | sed -E 's/^"[^"]*"://; s/^"//; s/"$//'
}

end() { # end PID: sends SIGTERM to a process that this script started and waits until it has exited
  kill "$1" 2>/dev/null || return 0
  wait "$1" 2>/dev/null || true
}

header() { # header NAME FILE: prints the value of a response header
  tr -d '\r' <"$2" | sed -nE "s/^$1: //Ip" | tail -n 1
}

sha256() { # sha256 FILE
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}

versitygw() { # prints the path of versitygw, an S3 server, which is built once into .tools
  local version=v1.8.0
  local path="$root/.tools/versitygw-$version"
  if [ ! -x "$path" ]; then
    echo "building versitygw $version once (about five minutes)" >&2
    GOBIN="$work" GOFLAGS='' go install "github.com/versity/versitygw/cmd/versitygw@$version"
    mkdir -p "$root/.tools"
    mv "$work/versitygw" "$path"
  fi
  echo "$path"
}

# compose_program prints the path of docker compose, which is built once into .tools: Debian's is too old for !reset.
compose_program() {
  local version=v2.40.3
  local path="$root/.tools/compose-$version" module
  if [ ! -x "$path" ]; then
    echo "building docker compose $version once (about five minutes)" >&2
    module=$(cd "$work" && GOFLAGS='' go mod download -json "github.com/docker/compose/v2@$version" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
    # Not go install: it refuses a go.mod with "exclude".
    CGO_ENABLED=0 GOFLAGS='' go build -C "$module" -buildvcs=false -trimpath \
      -ldflags "-s -w -X github.com/docker/compose/v2/internal.Version=$version" -o "$work/compose" ./cmd
    mkdir -p "$root/.tools"
    mv "$work/compose" "$path"
  fi
  echo "$path"
}

postgres_bin() { # prints the directory of Postgres' server programs
  local dir
  for dir in "$(dirname "$(command -v initdb || echo /none/initdb)")" $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /usr/pgsql-*/bin; do
    [ -x "$dir/initdb" ] && [ -x "$dir/pg_dump" ] && [ -x "$dir/createdb" ] && echo "$dir" && return
  done
  fail "Postgres' server programs are missing: run make postgres, then run this again"
}

as_postgres() { # as_postgres COMMAND…: runs COMMAND as user postgres when run as root, because Postgres refuses to run as root
  if [ "$(id -u)" = 0 ]; then (cd / && setpriv --reuid postgres --regid postgres --init-groups env "PATH=$PATH" "$@"); else "$@"; fi
}

start_postgres() { # start_postgres DIR: starts a private Postgres with an empty database consign; its socket is in DIR/postgres
  mkdir -p "$1"
  chmod 755 "$1"
  if [ "$(id -u)" = 0 ]; then install -d -o postgres "$1/postgres"; else mkdir "$1/postgres"; fi
  as_postgres initdb -D "$1/postgres/data" -U consign -E UTF8 --locale=C.UTF-8 --auth=trust >/dev/null
  as_postgres pg_ctl -D "$1/postgres/data" -w -l "$1/postgres/log" -o "-c listen_addresses= -k $1/postgres" start >/dev/null
  at_exit "as_postgres pg_ctl -D '$1/postgres/data' -m fast -w stop >/dev/null"
  createdb -h "$1/postgres" -U consign consign
}

[ "${BASH_SOURCE[0]}" != "$0" ] || "$@"
