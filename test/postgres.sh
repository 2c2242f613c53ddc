#!/usr/bin/env bash
# The packages that speak to Postgres, on the versions of it that other releases of Debian have. Each release is bootstrapped once into
# .tools, and the tests run in it; what is mounted there is gone with the script. TEST_POSTGRES names the releases.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "run this as root: another release of Debian is entered by chroot"
need debootstrap debootstrap
need unshare util-linux

for release in ${TEST_POSTGRES:-trixie forky}; do
  tree=.tools/debian-$release
  if [ ! -e "$tree/complete" ]; then
    step "Debian $release (two minutes, once)"
    rm -rf "$tree"
    # the script of sid serves for all that the debootstrap of an older Debian does not know by name
    debootstrap --variant=minbase --include=postgresql "$release" "$tree" http://deb.debian.org/debian /usr/share/debootstrap/scripts/sid >"$work/debootstrap.log" 2>&1 ||
      { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap ended with an error"; }
    mkdir -p "$tree/go/modules" "$tree/go/cache" "$tree/consign"
    touch "$tree/complete"
  fi
  step "$(basename "$tree"/usr/lib/postgresql/*) of Debian $release"
  TREE=$tree GOROOT=$(go env GOROOT) MODULES=$(go env GOMODCACHE) unshare --mount bash -euc '
    mkdir -p "$TREE$GOROOT"
    mount --bind "$GOROOT" "$TREE$GOROOT"
    mount --bind "$MODULES" "$TREE/go/modules"
    mount --bind . "$TREE/consign"
    mount -t proc proc "$TREE/proc"
    mount --bind /dev "$TREE/dev"
    exec env -i PATH="$GOROOT/bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root CGO_ENABLED=0 GOMODCACHE=/go/modules GOCACHE=/go/cache \
      GOFLAGS=-buildvcs=false chroot "$TREE" sh -ec "
      cd /consign
      go test ./cmd/... ./internal/localpg ./internal/database ./internal/jobs ./internal/token ./internal/mail ./internal/events ./internal/audit \
        ./internal/identity/... ./internal/transfer/..."'
done
