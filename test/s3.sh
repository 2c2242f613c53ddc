#!/usr/bin/env bash
# The blob store's conformance suite and uploads through whole servers, against a real S3 server: versitygw, built once into .tools.
# With TEST_S3_URL (s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…) another service is used instead.
. "$(dirname "$0")/lib.sh"
cd "$root"
start_s3
go test -tags s3 -count=1 -timeout 20m "$@" ./internal/blob/s3 ./test/s3
