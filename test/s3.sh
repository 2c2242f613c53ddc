#!/usr/bin/env bash
# The blob store's conformance suite and uploads through whole servers, against a real S3 server: versitygw, built once into .tools.
# With TEST_S3_URL (s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…) another service is used instead.
. "$(dirname "$0")/lib.sh"
cd "$root"

if [ -z "${TEST_S3_URL:-}" ]; then
  gateway=$(versitygw)
  port=$(free_port)
  mkdir -p "$work/s3/consign"
  ROOT_ACCESS_KEY=consign ROOT_SECRET_KEY=consign-secret "$gateway" --port "127.0.0.1:$port" --region us-east-1 --keep-alive --quiet \
    posix "$work/s3" >"$work/s3.log" 2>&1 &
  gateway_pid=$!
  at_exit end $gateway_pid
  for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    kill -0 "$gateway_pid" 2>/dev/null || { cat "$work/s3.log" >&2; fail "versitygw ended while starting (its directory needs extended attributes: set TMPDIR to a file system that has them)"; }
    sleep 0.1
  done
  export TEST_S3_URL="s3://consign:consign-secret@consign?endpoint=http://127.0.0.1:$port&region=us-east-1"
fi

go test -tags s3 -count=1 -timeout 20m "$@" ./internal/blob/s3 ./test/s3
