// Package s3 tests uploads and downloads through complete servers that store files in an S3 bucket. Run it with make test-s3.
package s3
