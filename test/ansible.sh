#!/usr/bin/env bash
# Runs contrib/ansible against a Debian of its own (a debootstrap chroot, Ansible's connection "chroot"): ansible-lint, an installation with
# Postgres and Caddy from the .deb, the same again, which changes nothing, and settings that are wrong. Then starts the server and Caddy by
# their units' command lines, in a network namespace of their own, and asks /readyz over TLS. DEB=FILE takes a package that is there;
# without it, one is made. The base system is bootstrapped once into .tools; processes and mounts end with the script.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "a chroot needs root: run sudo make test-ansible"
need ansible-playbook ansible
need ansible-lint ansible-lint
need debootstrap debootstrap
need unshare util-linux
need ip iproute2
need curl curl
need openssl openssl

step "ansible-lint"
export HOME="$work/home" ANSIBLE_NOCOLOR=1 ANSIBLE_NOCOWS=1
mkdir "$HOME"
(cd contrib/ansible && ansible-lint --offline --nocolor -q consign.yaml roles/consign)

if [ -z "${DEB:-}" ]; then
  [ -z "$(git status --porcelain)" ] || fail "the tree has changes: commit them first"
  step "Making the package"
  git clone -q "$root" "$work/clone"
  (cd "$work/clone" && git checkout -q "$(git -C "$root" rev-parse HEAD)" &&
    PARTS=packages PLATFORMS=linux/$(dpkg --print-architecture) make release) \
    >"$work/release.log" 2>&1 || { tail -n 20 "$work/release.log" >&2; fail "make release"; }
  DEB=$(find "$work/clone/dist" -name 'consign_*.deb')
fi

base=$root/.tools/debian-ansible
if [ ! -e "$base/complete" ]; then
  step "Bootstrapping Debian (once, about a minute)"
  rm -rf "$base"
  debootstrap --variant=minbase --include=python3,systemd,ca-certificates bookworm "$base" http://deb.debian.org/debian \
    >"$work/debootstrap.log" 2>&1 ||
    { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap failed"; }
  touch "$base/complete"
fi
cp -a --reflink=auto "$base" "$work/debian"
cp /etc/resolv.conf "$work/debian/etc/resolv.conf"
echo force-unsafe-io >"$work/debian/etc/dpkg/dpkg.cfg.d/unsafe"
DEB=$(realpath "$DEB") unshare --mount --pid --fork --kill-child bash test/ansible/walk.sh "$root" "$work/debian"
