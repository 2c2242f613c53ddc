#!/usr/bin/env bash
# Measures requests, jobs, start, memory and bytes of a row at three sizes of the database, the largest with 600,000 persons, 2,500,000
# transfers and 7,500,000 objects (about 10 GB below $TMPDIR). Arguments go to test/growth: -sizes 1000/10000,100000/1000000 is smaller.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x bin/consign ] || make -s build
exec go run -tags growth ./test/growth "$@"
