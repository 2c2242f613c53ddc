#!/usr/bin/env bash
# Tests backup and restore with the commands of docs/use/operations.md. Backs up a server with people, transfers and unfinished uploads
# three times: while it runs, in maintenance mode, and stopped. Restores each backup into an empty directory and database. All rows
# and files of the backup must be there, and every file must match byte for byte.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl
guide=docs/use/operations.md

pgbin=$(postgres_bin)
export PATH="$root/bin:$pgbin:$PATH" CONSIGN_LOG_FORMAT=text CONSIGN_BCRYPT_COST=4

documented() { # documented NAME: runs the guide's code block marked with NAME
  awk -v mark="<!-- test/restore.sh runs this: $1 -->" '$0 == mark {found = 1} found && /^```/ {if (inside) exit; inside = 1; next} inside' "$guide" >"$work/$1.sh"
  [ -s "$work/$1.sh" ] || fail "$guide has no code block marked $1"
  sed 's/^/    /' "$work/$1.sh"
  (set -e; . "$work/$1.sh")
}

deliver() { # deliver SUBJECT FILE…: uploads and confirms a transfer to the demo mailbox
  local subject=$1 n=0 file
  shift
  reserve "$transfer" "$subject"
  for file in "$@"; do
    n=$((n + 1))
    attach "$file" "file-$n"
    curl -sS -f -o /dev/null -T "$file" -H "Authorization: $token" "$content"
  done
  call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
}

check_transfer() { # check_transfer SUBJECT FILE…: the owner downloads these files; each must match byte for byte
  local subject=$1 uid file object name
  shift
  call GET "$transfer/transfers?location=received&limit=50" -H "Authorization: Bearer $access" >"$work/list"
  uid=$(grep -oE '"uid":"[^"]*","type":"mailbox","state":"[^"]*","locked":(true|false),"subject":"[^"]*"' "$work/list" | grep "\"subject\":\"$subject\"" | member uid) || true
  [ -n "$uid" ] || { cat "$work/list" >&2; fail "the transfer \"$subject\" is missing"; }
  call GET "$transfer/transfers/$uid" -H "Authorization: Bearer $access" >"$work/transfer"
  for file in "$@"; do
    name=$(basename "$file")
    object=$(grep -oE '"uid":"[^"]*","name":"[^"]*"' "$work/transfer" | grep "\"name\":\"$name\"" | member uid) || true
    [ -n "$object" ] || fail "the file $name of \"$subject\" is missing"
    curl -sS -f -o "$work/got" -H "Authorization: Bearer $access" "$transfer/transfers/$uid/objects/$object/content"
    cmp "$file" "$work/got" || fail "the file $name of \"$subject\" differs"
  done
  echo "downloaded $# files of \"$subject\" without a difference"
}

resume() { # resume RESERVATION_URL TOKEN FILE OFFSET: resumes the upload at the stored offset, which must be OFFSET, and confirms it
  local content="$1/objects/file-1/content" at
  at=$(held "$content" "$2")
  [ "$at" = "$4" ] || fail "$at bytes of the unfinished upload are stored, want $4"
  send_range "$3" "$at" "$(wc -c <"$3")" "$content" "$2" >/dev/null
  call POST "$1/confirm" -H "Authorization: $2" >/dev/null
  echo "resumed the unfinished upload at byte $at"
}

check_people() { # both accounts exist and can sign in; sets access, the owner's access token
  consign person show ann@example.com >"$work/person"
  grep -q 'Ann Archer' "$work/person" || fail "Ann's account is missing"
  sign_in "$identity" ann@example.com "$ann" >/dev/null
  access=$(sign_in "$identity" "$owner" "$password")
  echo "Ann and the owner sign in with their passwords"
}

new_place() { # new_place NAME: starts an empty Postgres, chooses an empty directory, exports the server settings for both
  place="$work/$1"
  start_postgres "$place"
  export CONSIGN_DATABASE_URL="postgres://consign@/consign?host=$place/postgres" CONSIGN_DATA_DIR="$place/var" CONSIGN_PUBLIC_URL="$url"
  export CONSIGN_STORAGE_URL="file://$place/objects" CONSIGN_SECRET_KEY="$secret" DATABASE="postgres://consign@/consign?host=$place/postgres" OBJECTS="$place/objects"
}

step "Start a server with people, a delivered transfer and two unfinished uploads"
port=$(free_port) url="http://localhost:$port"
transfer="$url/transfer/v2" identity="$url/id/v3" old="$work/old/var"
mkdir -p "$work/old" "$work/files"
chmod 755 "$work/old"
admin=$(free_port)
start_server "$old" "$port" "$admin" --demo
owner=$(sed -n 's/^email: *//p' "$old/demo.txt") password=$(sed -n 's/^password: *//p' "$old/demo.txt")
beside() { CONSIGN_DATA_DIR="$old" CONSIGN_PUBLIC_URL="$url" consign "$@"; }
ann=$(beside person create --name "Ann Archer" ann@example.com | first_password "$identity")
size=0
for name in empty.txt small.bin middle.bin large.bin; do
  head -c $size /dev/urandom >"$work/files/$name"
  size=$((size * 40 + 7000))
done
head -c 10000000 /dev/urandom >"$work/files/half.bin"
head -c 3000000 /dev/urandom >"$work/files/later.bin"
first=("$work"/files/{empty.txt,small.bin,middle.bin,large.bin})
deliver "Four files" "${first[@]}"
reserve "$transfer" "Half an upload"
attach "$work/files/half.bin" file-1
half=$reservation half_token=$token
send_range "$work/files/half.bin" 0 4000000 "$content" "$half_token" >/dev/null
reserve "$transfer" "Finished between dump and copy"
attach "$work/files/half.bin" file-1
between=$reservation between_token=$token
send_range "$work/files/half.bin" 0 4000000 "$content" "$between_token" >/dev/null

export DATABASE="postgres://consign@/consign?host=$old/postgres/socket" OBJECTS="$old/objects"
secret=$(cat "$old/secret.key")

step "Backup 1, running server: uploads continue between the database dump and the file copy"
export BACKUP="$work/backup-1"
mkdir "$BACKUP"
(export CONSIGN_DATA_DIR="$old" CONSIGN_PUBLIC_URL="$url"; documented backup-database)
if beside backup "$BACKUP" 2>/dev/null; then fail "a second backup was written over the first"; fi
deliver "Delivered after the dump" "$work/files/later.bin"
send_range "$work/files/half.bin" 4000000 6000000 "$half/objects/file-1/content" "$half_token" >/dev/null
send_range "$work/files/half.bin" 4000000 10000000 "$between/objects/file-1/content" "$between_token" >/dev/null
documented backup-files

step "Backup 2, maintenance mode: no changes between the database dump and the file copy"
export BACKUP="$work/backup-2"
mkdir "$BACKUP"
beside maintenance on
(export CONSIGN_DATA_DIR="$old" CONSIGN_PUBLIC_URL="$url"; documented backup-database)
documented backup-files
beside maintenance off

step "Backup 3, stopped server: the whole data directory"
stop_server
export CONSIGN_DATA_DIR="$old" BACKUP="$work/backup-3"
mkdir "$BACKUP"
documented backup-stopped
rm -rf "$work/old"

step "Restore backup 1: the files are newer than the rows, and no row lacks its file"
export BACKUP="$work/backup-1"
new_place one
if CONSIGN_SECRET_KEY=$(head -c 32 /dev/zero | base64) consign restore "$BACKUP" 2>"$work/refused"; then
  fail "restored with a wrong secret key"
fi
grep 'CONSIGN_SECRET_KEY is not that of the backup' "$work/refused"
cp -a "$BACKUP" "$work/damaged"
printf x | dd of="$work/damaged/consign.dump" bs=1 seek=2000 conv=notrunc status=none
if consign restore "$work/damaged" 2>"$work/refused"; then fail "restored a damaged dump"; fi
grep 'consign.dump in .* is damaged' "$work/refused"
documented restore | tee "$work/restored"
grep -q "^files checked: $(wc -l <"$BACKUP/objects.txt"), missing or damaged: 0\$" "$work/restored" || fail "not all files of the list were found"
# The command goes on where the database is restored already. A file that is not there is named.
lost=$(find "$OBJECTS/objects" -type f -size 281k)
mv "$lost" "$work/lost"
status=0
consign restore --verify "$BACKUP" >"$work/restored" || status=$?
cat "$work/restored"
[ "$status" = 1 ] || fail "restore --verify exited with $status although a file is missing"
[ "$(grep -c '^lost ' "$work/restored")" = 1 ] || fail "restore --verify must name exactly the file that is missing"
mv "$work/lost" "$lost"
if consign restore "$work/backup-2" 2>/dev/null; then fail "restored into a database that is not empty"; fi
status=0
consign fsck >"$work/fsck" || status=$?
cat "$work/fsck"
[ "$status" = 1 ] || fail "fsck exited with $status instead of 1"
[ "$(grep -c '^orphan ' "$work/fsck")" = 1 ] || fail "fsck must report exactly one orphan: the file delivered after the dump"
if grep -E '^(lost|damaged) ' "$work/fsck"; then fail "fsck reports a file of the dump as lost or damaged"; fi
consign fsck --accept | tail -n 1
start_server "$place/var" "$port" "$admin"
check_people
check_transfer "Four files" "${first[@]}"
resume "$half" "$half_token" "$work/files/half.bin" 4000000
check_transfer "Half an upload" "$work/files/half.bin"
# The store has the whole file, but the restored row says less than half. The server answers 416 and the client starts over.
status=$(send_range "$work/files/half.bin" 4000000 10000000 "$between/objects/file-1/content" "$between_token" -o /dev/null -w '%{http_code}' 2>/dev/null || true)
[ "$status" = 416 ] || fail "resuming the upload finished after the dump got status $status instead of 416"
resume "$between" "$between_token" "$work/files/half.bin" 0
check_transfer "Finished between dump and copy" "$work/files/half.bin"
stop_server

step "Restore backup 2: fsck finds nothing"
export BACKUP="$work/backup-2"
new_place two
documented restore
consign fsck
start_server "$place/var" "$port" "$admin"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$transfer/environment")" = 503 ] || fail "the dump was made in maintenance mode, but the restored server is not in maintenance mode"
consign maintenance off
for _ in $(seq 50); do
  [ "$(curl -s -o /dev/null -w '%{http_code}' "$transfer/environment")" = 200 ] && break
  sleep 0.1
done
check_people
check_transfer "Four files" "${first[@]}"
check_transfer "Delivered after the dump" "$work/files/later.bin"
resume "$half" "$half_token" "$work/files/half.bin" 6000000
check_transfer "Half an upload" "$work/files/half.bin"
stop_server

step "Restore backup 3: the server with its embedded Postgres runs from the restored directory"
unset CONSIGN_DATABASE_URL CONSIGN_STORAGE_URL CONSIGN_SECRET_KEY DATABASE OBJECTS
mkdir "$work/three"
chmod 755 "$work/three"
export CONSIGN_DATA_DIR="$work/three/var" BACKUP="$work/backup-3"
documented restore-stopped
consign fsck
start_server "$CONSIGN_DATA_DIR" "$port" "$admin"
check_people
check_transfer "Four files" "${first[@]}"
resume "$half" "$half_token" "$work/files/half.bin" 6000000
check_transfer "Half an upload" "$work/files/half.bin"
stop_server

step "Any moment: the database returns to before an accident"
mkdir "$work/archive"
if [ "$(id -u)" = 0 ]; then chown postgres "$work/archive"; chmod 755 "$work"; fi
export BACKUP="$work/backup-4" ARCHIVE="$work/archive"
mkdir "$BACKUP"
new_place four
documented archive
as_postgres pg_ctl -D "$place/postgres/data" -w -l "$place/postgres/log" -o "-c listen_addresses= -k $place/postgres" restart >/dev/null
start_server "$place/var" "$port" "$admin" --migrate --demo
owner=$(sed -n 's/^email: *//p' "$place/var/demo.txt") password=$(sed -n 's/^password: *//p' "$place/var/demo.txt")
deliver "Before the base backup" "$work/files/small.bin"
documented base
deliver "After it" "$work/files/middle.bin"
MOMENT=$(psql -XAt "$DATABASE" -c "SELECT clock_timestamp()")
export MOMENT PGDATA="$place/postgres/data"
deliver "After the moment" "$work/files/later.bin"
psql -Xq "$DATABASE" -c "DROP SCHEMA transfer CASCADE" 2>/dev/null
psql -XAtq "$DATABASE" -c "SELECT pg_switch_wal()" >/dev/null
stop_server
as_postgres pg_ctl -D "$PGDATA" -m fast -w stop >/dev/null
mv "$PGDATA" "$PGDATA-away"
documented recover
if [ "$(id -u)" = 0 ]; then chown -R postgres "$PGDATA"; fi
as_postgres pg_ctl -D "$PGDATA" -w -l "$place/postgres/log" -o "-c listen_addresses= -k $place/postgres" start >/dev/null
for _ in $(seq 300); do [ "$(psql -XAt "$DATABASE" -c "SELECT pg_is_in_recovery()")" = f ] && break; sleep 0.2; done
status=0
consign fsck >"$work/fsck" || status=$?
cat "$work/fsck"
[ "$(grep -c '^orphan ' "$work/fsck")" = 1 ] || fail "fsck must report exactly one orphan: the file delivered after the moment"
if grep -E '^(lost|damaged) ' "$work/fsck"; then fail "fsck reports a file as lost or damaged"; fi
start_server "$place/var" "$port" "$admin"
access=$(sign_in "$identity" "$owner" "$password")
check_transfer "Before the base backup" "$work/files/small.bin"
check_transfer "After it" "$work/files/middle.bin"
stop_server

step "Done: all three backups and the moment before the accident are restored without a difference."
