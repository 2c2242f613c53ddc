# Shared by the scripts in test/: start and stop a server of one's own, call it, read JSON with nothing but sed and grep.
# Sourced, never run. Everything it starts lies under $work and is ended by the process id it was started with.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/consign-test.XXXXXX")
chmod 755 "$work" # user postgres must reach the cluster below it when run as root
server_pid=""

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

need() { # need PROGRAM PACKAGE: refuse to go on without a tool that a target is about
  command -v "$1" >/dev/null 2>&1 || fail "$1 is missing: install $2 and run this again"
}

free_port() { # an unused TCP port on loopback
  local p
  for _ in $(seq 100); do
    p=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
  done
  fail "no free port"
}

start_server() { # start_server DATA_DIR PORT ADMIN_PORT [ARG…]: sets server_pid, waits until ready
  local data=$1 port=$2 admin=$3
  shift 3
  CONSIGN_PUBLIC_URL="http://localhost:$port" CONSIGN_LISTEN="127.0.0.1:$port" CONSIGN_ADMIN_LISTEN="127.0.0.1:$admin" \
    CONSIGN_DATA_DIR="$data" "$root/bin/consign" serve "$@" >>"$work/server.log" 2>&1 &
  server_pid=$!
  for _ in $(seq 300); do
    curl -fs -o /dev/null "http://localhost:$port/readyz" && return
    kill -0 "$server_pid" 2>/dev/null || { tail -n 20 "$work/server.log" >&2; fail "the server ended while starting"; }
    sleep 0.1
  done
  tail -n 20 "$work/server.log" >&2
  fail "the server was not ready within 30 s"
}

stop_server() { # SIGTERM, then wait
  [ -n "$server_pid" ] || return 0
  kill -TERM "$server_pid" 2>/dev/null || true
  wait "$server_pid" 2>/dev/null || true
  server_pid=""
}

cleanup() {
  local status=$?
  stop_server
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

member() { # member NAME <<<JSON: the first string or number of that name
  grep -oE "\"$1\":(\"[^\"]*\"|[0-9.]+|true|false|null)" | head -n 1 | sed -E 's/^"[^"]*"://; s/^"//; s/"$//'
}

header() { # header NAME FILE: the value of an answer header
  tr -d '\r' <"$2" | sed -nE "s/^$1: //Ip" | tail -n 1
}

sha256() { # sha256 FILE
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1
}
