#!/usr/bin/env bash
# Installs Postgres' server programs with apt-get or brew if they are missing.
set -euo pipefail

found() {
  command -v initdb >/dev/null 2>&1 && command -v postgres >/dev/null 2>&1 && return 0
  for bin in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /usr/pgsql-*/bin; do
    [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ] && return 0
  done
  return 1
}

found && exit 0
if command -v apt-get >/dev/null 2>&1; then
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  if [ -z "$sudo" ] || command -v sudo >/dev/null 2>&1; then
    echo "installing Postgres (apt-get install postgresql)" >&2
    $sudo apt-get update -q >&2
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends postgresql >&2
  fi
elif command -v brew >/dev/null 2>&1; then
  echo "installing Postgres (brew install postgresql)" >&2
  brew install postgresql >&2
fi
found && exit 0
echo "Postgres is missing: run 'apt-get install postgresql' or 'brew install postgresql', or set CONSIGN_DATABASE_URL to a server you have." >&2
exit 1
