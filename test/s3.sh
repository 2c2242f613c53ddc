#!/usr/bin/env bash
# Runs the blob store's conformance suite, uploads through complete servers, and kill -9 (ROUNDS, 10) during uploads, against a real S3
# server: versitygw, built once into .tools. TEST_S3_URL (s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…) selects another service.
. "$(dirname "$0")/lib.sh"
cd "$root"
start_s3
go test -tags s3 -count=1 -timeout 20m "$@" ./internal/blob/s3 ./test/s3
[ -x bin/consign ] || make -s build
go test -tags campaign -count=1 -timeout 90m "$@" -run '^TestCrash(Parts|Concatenation|Move)?$' ./test/campaign
