#!/usr/bin/env bash
# Cuts the power CUTS (20) times: a server, its Postgres and its files lie on an ext4 in an image, of which a reflink copy is taken at a
# random moment and started from. Every acknowledged answer must be true afterwards. Then the same with a fault built in (no fsync of
# files, of directories, no synchronous_commit), which must be found. 100 cuts take about four minutes on an idle machine. Last come
# TORN (50) cuts of a disk (FUSE, test/torn) that loses, reorders and tears what was not flushed.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "mounting loop devices needs root: run this as root"
need mkfs.xfs xfsprogs
need mkfs.ext4 e2fsprogs
need fusermount3 fuse3
make -s build
(cd test/torn && go vet . && go test -count=1 .)
go test -tags campaign -count=1 -timeout 10h -v -run "${RUN:-^TestBlackout}" ./test/campaign
