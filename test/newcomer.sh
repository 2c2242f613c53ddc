#!/usr/bin/env bash
# The first minutes of a newcomer: in a Debian that has nothing but make, git and Go, an ordinary user and root clone the repository, run
# make run, hand a file over as README says, and verify the receipt. The ordinary user also runs make test (TEST=no leaves it out). The
# system is bootstrapped once into .tools, and each run begins with a copy: Postgres and what Go has built would stay in it. The mounts
# live in a private mount namespace and vanish when the script ends. Prints the seconds of each step, and those after the downloads.
# Uses port 8080, which README names.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "chroot needs root: run this as root"
need debootstrap debootstrap
need unshare util-linux
[ -z "$(git status --porcelain)" ] || fail "the tree has changes: commit them first"
! (exec 3<>/dev/tcp/127.0.0.1/8080) 2>/dev/null || fail "port 8080 is in use: stop the process that listens there"

base=$root/.tools/debian-newcomer
if [ ! -e "$base/complete" ]; then
  step "Bootstrapping Debian (once, about a minute)"
  rm -rf "$base"
  debootstrap --variant=minbase --include=make,git,ca-certificates,curl trixie "$base" http://deb.debian.org/debian \
    /usr/share/debootstrap/scripts/sid >"$work/debootstrap.log" 2>&1 ||
    { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap failed"; }
  touch "$base/complete"
fi
tree=$base.run
rm -rf "$tree"
at_exit "rm -rf '$tree'"
cp -a --reflink=auto "$base" "$tree"
git clone -q --no-hardlinks "$root" "$tree/repository"
git -C "$tree/repository" checkout -q "$(git rev-parse HEAD)"
cp test/newcomer/walk.sh "$tree/walk.sh"
# The repository belongs to root; newcomers clone from a forge.
printf '[safe]\n\tdirectory = *\n[init]\n\tdefaultBranch = main\n' >"$tree/etc/gitconfig"
cp /etc/resolv.conf "$tree/etc/resolv.conf"
printf '127.0.0.1\tlocalhost\n' >"$tree/etc/hosts" # the installer of Debian writes it, debootstrap does not
cp /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/" # the network may have a certificate authority of its own

TREE=$tree GOROOT=$(go env GOROOT) GOPROXY=$(go env GOPROXY) TEST=${TEST:-yes} unshare --mount --pid --fork --kill-child bash -euc '
  mkdir -p "$TREE/usr/local/go"
  mount --bind "$GOROOT" "$TREE/usr/local/go"
  mount -t proc proc "$TREE/proc"
  mount --bind /dev "$TREE/dev"
  mount -t tmpfs tmpfs "$TREE/dev/shm"
  programs=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  inside() { env -i PATH="$programs" LANG=C.UTF-8 GOPROXY="$GOPROXY" "$@"; }
  inside chroot "$TREE" sh -c "id nina >/dev/null 2>&1 || useradd --shell /bin/bash nina; install -d -o nina -g nina /home/nina"
  inside TEST="$TEST" HOME=/home/nina chroot --userspec=nina:nina "$TREE" bash /walk.sh
  inside TEST=no HOME=/root chroot "$TREE" bash /walk.sh'
