#!/usr/bin/env bash
# Tests docs/use/proxy/nginx.conf and docs/use/proxy/Caddyfile in front of a real Consign. Only host names, ports and certificates are
# replaced. Each proxy passes a 2 GB upload in four chunks with one interruption, range downloads, and an event stream for 50 s.
# Forwarding headers that a client forges must have no effect. Needs 7 GB under $TMPDIR. PROXY_TEST_BYTES sets a smaller file size.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl
need openssl openssl
need nginx nginx-light
need caddy caddy
size=${PROXY_TEST_BYTES:-2000000000}

substitute() { # substitute FILE OLD NEW…: replaces each OLD by NEW in a copied configuration; fails when OLD does not occur
  local file=$1
  shift
  while [ $# -gt 0 ]; do
    grep -qF -- "$1" "$file" || fail "$file does not contain $1"
    OLD=$1 NEW=$2 perl -pi -e 's/\Q$ENV{OLD}\E/$ENV{NEW}/g' "$file"
    shift 2
  done
}

start_nginx() { # listens on https_port and http_port, forwards to upstream
  mkdir -p "$work/nginx/tmp"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$work/nginx/key.pem" -out "$work/nginx/cert.pem" 2>/dev/null
  cp docs/use/proxy/nginx.conf "$work/nginx/consign.conf"
  substitute "$work/nginx/consign.conf" "127.0.0.1:8080" "$upstream" "listen 80;" "listen 127.0.0.1:$http_port;" "listen 443 ssl" "listen 127.0.0.1:$https_port ssl" \
    /etc/ssl/files.example.com.pem "$work/nginx/cert.pem" /etc/ssl/files.example.com.key "$work/nginx/key.pem" files.example.com localhost
  cat >"$work/nginx/nginx.conf" <<CONF
pid $work/nginx/pid;
error_log $work/nginx/error.log;
events {}
http {
  client_body_temp_path $work/nginx/tmp/body; proxy_temp_path $work/nginx/tmp/proxy;
  fastcgi_temp_path $work/nginx/tmp/fastcgi; uwsgi_temp_path $work/nginx/tmp/uwsgi; scgi_temp_path $work/nginx/tmp/scgi;
  include $work/nginx/consign.conf;
}
CONF
  nginx -e "$work/nginx/error.log" -c "$work/nginx/nginx.conf" -g 'daemon off;' 2>>"$work/nginx/error.log" &
  proxy_pid=$!
  certificate="$work/nginx/cert.pem"
}

start_caddy() {
  mkdir -p "$work/caddy"
  cp docs/use/proxy/Caddyfile "$work/caddy/Caddyfile"
  # Ports and a local certificate authority are set as global options. The rest of the file stays unchanged.
  perl -0pi -e 's/^\{\n/{\n\tadmin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port '"$http_port"'\n\thttps_port '"$https_port"'\n/m' "$work/caddy/Caddyfile"
  XDG_DATA_HOME="$work/caddy" XDG_CONFIG_HOME="$work/caddy" HOME="$work/caddy" PUBLIC_HOST=localhost CONSIGN_UPSTREAM="$upstream" \
    caddy run --config "$work/caddy/Caddyfile" --adapter caddyfile >"$work/caddy/error.log" 2>&1 &
  proxy_pid=$!
  certificate="$work/caddy/caddy/pki/authorities/local/root.crt"
}

wait_for_proxy() {
  for _ in $(seq 150); do
    [ -s "$certificate" ] && [ "$(curl -s -o /dev/null -w '%{http_code}' --cacert "$certificate" "$url/readyz")" = 200 ] && return
    kill -0 "$proxy_pid" 2>/dev/null || break
    sleep 0.2
  done
  cat "$work/$name/error.log" >&2
  fail "$name does not forward requests"
}

logged() { # logged REQUEST_ID NAME: prints the field NAME of Consign's log line for a request
  for _ in $(seq 50); do
    grep -F "\"request_id\":\"$1\"" "$work/server.log" | member "$2" && return
    sleep 0.1
  done
  fail "Consign logged no request $1"
}

check_forged() { # forwarding headers that the client sends have no effect
  local forged=(-H 'X-Forwarded-For: 6.6.6.6' -H 'X-Forwarded-Host: evil.example' -H 'Forwarded: for=6.6.6.6;host=evil.example;proto=http') status id from
  for from in 127.0.0.1 127.0.0.9; do
    status=$(curl -s --interface $from --cacert "$certificate" -D "$work/head" -o /dev/null -w '%{http_code}' "${forged[@]}" -H 'X-Forwarded-Proto: http' "$url/transfer/v2/environment")
    [ "$status" = 200 ] || fail "with forged headers $name answered $status"
    id=$(header X-Request-Id "$work/head")
    [ "$(logged "$id" client)" = $from ] || fail "behind $name Consign logged the client address $(logged "$id" client), want $from"
    [ "$(logged "$id" host)" = localhost ] || fail "behind $name Consign logged the host $(logged "$id" host), want localhost"
  done
  status=$(curl -s -D "$work/head" -o /dev/null -w '%{http_code}' -H 'X-Forwarded-Proto: https' "http://localhost:$http_port/transfer/v2/environment?a=b")
  [ "$status" = 308 ] || [ "$status" = 301 ] || fail "plain http got status $status instead of a redirect"
  grep -qi '^location: https://localhost.*/transfer/v2/environment?a=b' "$work/head" || fail "wrong redirect target: $(header Location "$work/head")"
  # A direct request from an address outside CONSIGN_TRUSTED_PROXIES: Consign ignores the headers.
  status=$(curl -s --interface 127.0.0.9 -o "$work/body" -w '%{http_code}' -H 'X-Forwarded-Proto: https' "http://$upstream/transfer/v2/environment")
  [ "$status" = 403 ] && grep -q CONSIGN_TRUSTED_PROXIES "$work/body" || fail "a direct request without the proxy got status $status instead of 403"
  echo "forged headers have no effect; plain http gets 30x through the proxy and 403 directly"
}

watch_events() { # reads an event stream in the background; prefixes each line with its arrival time in milliseconds
  rm -f "$work/events"
  curl -sS -N --cacert "$certificate" --max-time 590 -H "Authorization: Bearer $access" "$url/id/v3/events" 2>/dev/null \
    > >(while IFS= read -r line; do printf '%s %s\n' "$(date +%s%N | cut -c1-13)" "$line"; done >"$work/events" 2>/dev/null) &
  stream_pid=$!
  at_exit end "$stream_pid"
  stream_began=$(date +%s%N | cut -c1-13)
  for _ in $(seq 30); do
    [ -s "$work/events" ] && break
    sleep 0.1
  done
  [ -s "$work/events" ] || fail "the first line of the event stream did not arrive through $name within 3 s"
}

check_events() { # call after upload, which sets $delivered
  local came now heartbeats gaps
  for _ in $(seq 30); do
    came=$(grep -m 1 'event: TRANSFER_RECEIVED' "$work/events" | cut -d' ' -f1) || true
    [ -n "$came" ] && break
    sleep 0.1
  done
  [ -n "$came" ] || fail "the event did not arrive through $name within 3 s"
  now=$(date +%s%N | cut -c1-13)
  while [ $((now - stream_began)) -lt 50000 ]; do
    sleep 1
    now=$(date +%s%N | cut -c1-13)
  done
  end "$stream_pid"
  # The server writes a heartbeat after 15 s without an event. The proxy must not buffer them: they must arrive at least 10 s apart.
  heartbeats=$(grep -cE '^[0-9]+ :$' "$work/events") || true
  [ "$heartbeats" -ge 2 ] || { cat "$work/events" >&2; fail "only $heartbeats heartbeats arrived through $name within 50 s, want at least 2"; }
  gaps=$(awk '$2 == ":" {if (last && $1 - last < 10000) bad = 1; last = $1} END {print bad + 0}' "$work/events")
  [ "$gaps" = 0 ] || { cat "$work/events" >&2; fail "$name buffered heartbeats: some arrived less than 10 s apart"; }
  echo "the event arrived $((came - delivered)) ms after the confirm request; $heartbeats heartbeats arrived unbuffered"
}

upload() { # uploads $size bytes in four chunks; interrupts the second and resumes it at the stored offset
  local piece=$((size / 4)) at
  reserve "$transfer" "Through $name"
  attach "$work/large.bin" large
  send_range "$work/large.bin" 0 $piece "$content" "$token" -o /dev/null
  send_range "$work/large.bin" $piece $((2 * piece)) "$content" "$token" -o /dev/null --limit-rate $((piece / 8)) --max-time 4 2>/dev/null || true
  sleep 3 # Consign needs time to notice the broken connection and to flush
  at=$(held "$content" "$token")
  [ "$at" -gt $piece ] && [ "$at" -lt $((2 * piece)) ] || fail "after the interruption $at bytes are stored: $name buffers request bodies instead of streaming them"
  echo "interrupted with $at of $size bytes stored"
  send_range "$work/large.bin" "$at" $((3 * piece)) "$content" "$token" -o /dev/null
  send_range "$work/large.bin" $((3 * piece)) "$size" "$content" "$token" -o /dev/null
  delivered=$(date +%s%N | cut -c1-13)
  call POST "$reservation/confirm" -H "Authorization: $token" >"$work/confirmed"
  rm -f "$work/range"
}

download() {
  local uid object at got
  call GET "$transfer/transfers?location=received&limit=1" -H "Authorization: Bearer $access" >"$work/list"
  uid=$(sed -E 's/.*"transfers":\[\{"uid":"([^"]+)".*/\1/' "$work/list")
  call GET "$transfer/transfers/$uid" -H "Authorization: Bearer $access" >"$work/transfer"
  grep -q "$sum" "$work/transfer" || fail "the file uploaded through $name has the wrong SHA-256"
  object=$(sed -E 's/.*"objects":\[\{"uid":"([^"]+)".*/\1/' "$work/transfer")
  local bytes="$transfer/transfers/$uid/objects/$object/content"
  for at in 0 $((size / 2 - 500)) $((size - 1000)); do
    got=$(curl -sS --cacert "$certificate" -H "Authorization: Bearer $access" -r "$at-$((at + 999))" -o "$work/part" -w '%{http_code}' "$bytes")
    [ "$got" = 206 ] && cmp "$work/part" <({ tail -c +$((at + 1)) "$work/large.bin" || true; } 2>/dev/null | head -c 1000) || fail "wrong bytes or status for the range at $at through $name (status $got)"
  done
  got=$({ curl -sS -f --cacert "$certificate" -H "Authorization: Bearer $access" -r "0-$((size / 2 - 1))" "$bytes"
    curl -sS -f --cacert "$certificate" -H "Authorization: Bearer $access" -r "$((size / 2))-" "$bytes"; } | openssl dgst -sha256 -r | cut -d' ' -f1)
  [ "$got" = "$sum" ] || fail "the two halves downloaded through $name have the wrong SHA-256"
  call DELETE "$transfer/transfers/$uid" -H "Authorization: Bearer $access" >/dev/null
  echo "downloaded in ranges without a difference"
}

step "A file of $size bytes"
openssl enc -aes-128-ctr -K 00000000000000000000000000000001 -iv 00000000000000000000000000000000 </dev/zero 2>/dev/null | head -c "$size" >"$work/large.bin" || true
[ "$(wc -c <"$work/large.bin")" -eq "$size" ] || fail "the test file could not be created"
sum=$(sha256 "$work/large.bin")

for name in ${PROXIES:-nginx caddy}; do
  http_port=$(free_port) https_port=$(free_port) port=$(free_port)
  upstream="127.0.0.1:$port" url="https://localhost:$https_port" transfer="https://localhost:$https_port/transfer/v2"
  data="$work/var-$name"
  step "Consign behind $name ($("$name" $([ "$name" = nginx ] && echo -v || echo version) 2>&1 | head -n 1))"
  : >"$work/server.log"
  public_url=$url CONSIGN_TRUSTED_PROXIES=127.0.0.1 start_server "$data" "$port" "$(free_port)" --demo
  "start_$name"
  at_exit end "$proxy_pid"
  wait_for_proxy
  curl_options=(--cacert "$certificate")
  access=$(sign_in "$url/id/v3" "$(sed -n 's/^email: *//p' "$data/demo.txt")" "$(sed -n 's/^password: *//p' "$data/demo.txt")")
  check_forged
  watch_events
  upload
  check_events
  download
  curl_options=()
  end "$proxy_pid"
  stop_server
  rm -rf "$data"
done
step "Done: the documented proxy configurations work."
