#!/usr/bin/env bash
# Makes Postgres' server programs available if they are missing. Root on Debian and users of brew install them. Any other user of Debian
# needs no rights: the packages are unpacked below .tools/postgres, which the Makefile has in its PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
own=$PWD/.tools/postgres

found() {
  command -v initdb >/dev/null 2>&1 && command -v postgres >/dev/null 2>&1 && return 0
  for bin in "$own/bin" /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin /usr/pgsql-*/bin; do
    [ -x "$bin/initdb" ] && [ -x "$bin/postgres" ] && return 0
  done
  return 1
}

# unpack downloads the packages of Postgres, and those that they need and that are not installed, with package lists of its own, and unpacks
# them. A small script for each program names the directory of their libraries.
unpack() {
  local new=$own.new options packages bin libraries program
  rm -rf "$new" "$own"
  mkdir -p "$new"/{lists/partial,cache/archives/partial,packages,bin}
  options=(-q -o "Dir::State::lists=$new/lists" -o "Dir::Cache=$new/cache" -o Debug::NoLocking=true -o APT::Sandbox::User=)
  apt-get "${options[@]}" update
  packages=$(apt-get "${options[@]}" --simulate --no-install-recommends install postgresql | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
  # shellcheck disable=SC2086 # words
  (cd "$new/packages" && apt-get "${options[@]}" download $packages)
  for program in "$new"/packages/*.deb; do dpkg-deb --extract "$program" "$new"; done
  bin=$(printf '%s\n' "$new"/usr/lib/postgresql/*/bin | sort -V | tail -n 1)
  libraries=$(dirname "$(find "$new/usr/lib" -name 'libpq.so.5' | head -n 1)")
  for program in "$bin"/*; do
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec %s "$@"\n' \
      "$own${libraries#"$new"}" "$own${program#"$new"}" >"$new/bin/${program##*/}"
  done
  chmod +x "$new"/bin/*
  rm -rf "$new"/{lists,cache,packages}
  mv "$new" "$own"
}

found && exit 0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if command -v apt-get >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ]; then
    echo "installing Postgres (apt-get install postgresql)" >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && apt-get install -y -q --no-install-recommends postgresql; } >"$log" 2>&1 || tail -n 5 "$log" >&2
  else
    echo "unpacking Postgres in .tools/postgres (packages of Debian, about 60 MB)" >&2
    unpack >"$log" 2>&1 || tail -n 5 "$log" >&2
  fi
elif command -v brew >/dev/null 2>&1; then
  echo "installing Postgres (brew install postgresql)" >&2
  brew install postgresql >&2
fi
found && exit 0
echo "Postgres is missing: run 'apt-get install postgresql' or 'brew install postgresql', or set CONSIGN_DATABASE_URL to a server you have." >&2
exit 1
