#!/usr/bin/env bash
# Tests inspection with a real clamd and a real c-icap. The signatures are written by the tests: nothing is downloaded.
. "$(dirname "$0")/lib.sh"
cd "$root"
need clamd clamav-daemon
need c-icap c-icap
module=$(find /usr/lib -name virus_scan.so -path '*c_icap*' 2>/dev/null | head -n 1)
if [ -z "$module" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends libc-icap-mod-virus-scan >"$work/apt.log" 2>&1 || true
  module=$(find /usr/lib -name virus_scan.so -path '*c_icap*' 2>/dev/null | head -n 1)
fi
[ -n "$module" ] || fail "the antivirus module of c-icap is missing: install libc-icap-mod-virus-scan and run this again"
CICAP_MODULES=$(dirname "$module") go test -tags scan -count=1 -timeout 20m "$@" ./test/scan
