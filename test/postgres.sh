#!/usr/bin/env bash
# Runs the tests of all packages that use Postgres against the Postgres versions of other Debian releases. Each release is
# bootstrapped once into .tools; the tests run there in a chroot. The mounts live in a private mount namespace and vanish when the
# script ends. The releases share a build cache of their own, but no test results: Go does not see which Postgres answered. TEST_POSTGRES
# lists the releases.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "chroot needs root: run this as root"
need debootstrap debootstrap
need unshare util-linux
mkdir -p .tools/debian-cache

for release in ${TEST_POSTGRES:-trixie forky}; do
  tree=.tools/debian-$release
  if [ ! -e "$tree/complete" ]; then
    step "Bootstrapping Debian $release (once, about two minutes)"
    rm -rf "$tree"
    # An older debootstrap has no script for newer releases; the script of sid works for all of them.
    debootstrap --variant=minbase --include=postgresql "$release" "$tree" http://deb.debian.org/debian /usr/share/debootstrap/scripts/sid >"$work/debootstrap.log" 2>&1 ||
      { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap failed"; }
    mkdir -p "$tree/go/modules" "$tree/go/cache" "$tree/consign"
    touch "$tree/complete"
  fi
  step "$(basename "$tree"/usr/lib/postgresql/*) of Debian $release"
  TREE=$tree GOROOT=$(go env GOROOT) MODULES=$(go env GOMODCACHE) unshare --mount bash -euc '
    mkdir -p "$TREE$GOROOT"
    mount --bind "$GOROOT" "$TREE$GOROOT"
    mount --bind "$MODULES" "$TREE/go/modules"
    mount --bind .tools/debian-cache "$TREE/go/cache"
    mount --bind . "$TREE/consign"
    mount -t proc proc "$TREE/proc"
    mount --bind /dev "$TREE/dev"
    mount -t tmpfs tmpfs "$TREE/dev/shm"
    exec env -i PATH="$GOROOT/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root CGO_ENABLED=0 GOMODCACHE=/go/modules GOCACHE=/go/cache \
      GOFLAGS=-buildvcs=false chroot "$TREE" sh -ec "
      cd /consign
      go test -count=1 -timeout 40m ./cmd/... ./internal/localpg ./internal/database ./internal/jobs ./internal/token ./internal/mail \
        ./internal/events ./internal/audit ./internal/identity/... ./internal/transfer/..."'
done
