#!/usr/bin/env bash
# Runs the blob store's conformance suite, and uploads through complete servers, against a real S3 server: versitygw, built once into
# .tools. TEST_S3_URL (s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…) selects another service.
. "$(dirname "$0")/lib.sh"
cd "$root"
start_s3
go test -tags s3 -count=1 -timeout 20m "$@" ./internal/blob/s3 ./test/s3
