#!/usr/bin/env bash
# Runs the scanners sqlmap and wapiti against a private server with the demo's data and lists what they find. Fails when sqlmap finds
# an injection, when wapiti finds a weakness, or when the server answered 500 meanwhile. Rate limits are off, or the scanners would
# test only those. Takes about five minutes.
. "$(dirname "$0")/../lib.sh"
cd "$root"
need curl curl
need sqlmap sqlmap
need wapiti wapiti
[ -x bin/consign ] || fail "bin/consign is missing: run make build, or make test-attacks, which does"

step "Server"
port=$(free_port) data="$work/var"
export CONSIGN_RATE_LIMIT=off CONSIGN_BCRYPT_COST=4 CONSIGN_NEW_TRANSFER_BUCKET=1000000,1000/s CONSIGN_STRANGER_SHARE=100
export CONSIGN_STRANGER_RESERVATIONS=10000 CONSIGN_STRANGER_ORGANIZATION_RESERVATIONS=0
start_server "$data" "$port" "$(free_port)" --demo
url="http://localhost:$port" transfer="http://localhost:$port/transfer/v2" identity="http://localhost:$port/id/v3"
email=$(sed -n 's/^email: *//p' "$data/demo.txt") password=$(sed -n 's/^password: *//p' "$data/demo.txt")
access=$(sign_in "$identity" "$email" "$password")

step "sqlmap: each parameter, path segment and JSON member marked with * or named in a query"
scan() { # scan NAME [sqlmap arguments]: fails when an injection is found
  local name=$1
  shift
  timeout 300 sqlmap --batch --disable-coloring --output-dir="$work/sqlmap" --flush-session --level=2 --risk=2 --threads=4 --time-sec=2 \
    --dbms=PostgreSQL --ignore-code='*' --answers="follow=N,redirect=N,reduce=Y" "$@" >"$work/sqlmap.$name" 2>&1 || true
  if grep -q 'identified the following injection point' "$work/sqlmap.$name"; then
    grep -A12 'identified the following injection point' "$work/sqlmap.$name" >&2
    fail "sqlmap found an injection: $name"
  fi
  grep -Eq 'do(es)? not (appear|seem) to be injectable' "$work/sqlmap.$name" || { tail -n 15 "$work/sqlmap.$name" >&2; fail "sqlmap did not test $name"; }
  echo "$name: no injection"
}
bearer=(-H "Authorization: Bearer $access")
json=(-H 'Content-Type: application/json')
scan search -u "$transfer/transfers?location=received&limit=10&search=a" "${bearer[@]}"
scan after -u "$transfer/transfers?after=x" "${bearer[@]}"
scan transfer -u "$transfer/transfers/x*" "${bearer[@]}"
scan mailbox -u "$transfer/public/mailbox/demo*"
scan address -u "$identity/auth/exists?email=ann%40example.com"
scan login -u "$identity/auth/login" "${json[@]}" --data "{\"email\":\"$email*\",\"type\":\"bcrypt\",\"key\":\"x*\"}"
scan reserve -u "$transfer/public/mailbox/demo" "${json[@]}" --data '{"subject":"a*","message":"b*","anonSender":"Sam*","anonEmail":"sam@example.com*"}'
scan reset -u "$identity/auth/reset" "${json[@]}" --data "{\"email\":\"$email*\"}"

step "wapiti: the pages and the documents that they link"
timeout 600 wapiti -u "$url/" -s "$url/m/demo" -s "$url/login?next=/inbox" -s "$url/signup" -s "$url/reset" -s "$url/api/" \
  -s "$transfer/public/mailbox/demo" -s "$transfer/environment" --scope domain -m "blindsql,cookieflags,crlf,csp,exec,file,htaccess,http_headers,methods,permanentxss,redirect,shellshock,sql,ssrf,xss,xxe" \
  --endpoint http://127.0.0.1:9/ --store-session "$work/wapiti" --max-scan-time 120 --max-attack-time 60 --no-bugreport -f json -o "$work/wapiti.json" >"$work/wapiti.log" 2>&1 ||
  { tail -n 20 "$work/wapiti.log" >&2; fail "wapiti ended early"; }
python3 - "$work/wapiti.json" <<'PY'
import json, sys
report = json.load(open(sys.argv[1]))
# HSTS cannot be set on http://localhost, where this scan runs. frame-ancestors of the policy replaces X-Frame-Options. Browsers have
# removed the filter that X-XSS-Protection controlled, because it made attacks possible.
headers = ("Strict-Transport-Security", "X-Frame-Options", "X-XSS-Protection")
expected = lambda row: row["info"] in [name + " is not set" for name in headers]
found = [(kind, row) for group in ("vulnerabilities", "anomalies") for kind, rows in report[group].items() for row in rows]
for kind, row in found:
    print(("expected" if expected(row) else "FINDING"), kind + ":", row["method"], row["path"], row["info"])
if any(not expected(row) for kind, row in found):
    sys.exit("FAILED: wapiti found weaknesses")
print(f"wapiti: {report['infos'].get('crawled_pages', 'all')} pages, {len(found)} expected findings, no other")
PY

step "Log"
! grep -E '"status":500|panic' "$work/server.log" | head -n 5 | grep . >&2 || fail "the server answered 500 meanwhile"
grep -o '"status":[0-9]*' "$work/server.log" | sort | uniq -c
echo "ok: no injection, no weakness, no 500"
