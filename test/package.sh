#!/usr/bin/env bash
# Tests the .deb in a Debian of its own (mmdebstrap and chroot, so that this machine stays as it is): installs a former version, which is
# today's with another number, starts it by the command line of the systemd unit, makes a person, upgrades, starts
# again, removes and purges. Checks the package with lintian and the unit with systemd-analyze.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "a chroot needs root: run sudo make test-package"
need mmdebstrap mmdebstrap
need lintian lintian
need systemd-analyze systemd
readonly debian=$work/debian
arch=$(dpkg --print-architecture)

echo "making the package"
git clone -q "$root" "$work/clone"
(cd "$work/clone" && git checkout -q "$(git -C "$root" rev-parse HEAD)" && PARTS=packages PLATFORMS=linux/$arch make release) \
  >"$work/release.log" 2>&1 || { tail -n 20 "$work/release.log" >&2; fail "make release"; }
new=$(find "$work/clone/dist" -name 'consign_*.deb')
client=$(find "$work/clone/dist" -name 'consign-client_*.deb')
(cd "$work/clone" && go build -trimpath -ldflags "-s -w -X main.version=0.9.0" -o "$work/consign-former" ./cmd/consign)
dpkg-deb -R "$new" "$work/former"
install -m 0755 "$work/consign-former" "$work/former/usr/bin/consign"
sed -i 's/^Version: .*/Version: 0.9.0/' "$work/former/DEBIAN/control"
(cd "$work/former" && find . -type f -not -path './DEBIAN/*' -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb -Znone -b "$work/former" "$work/former.deb" >/dev/null

lintian --allow-root --fail-on error --suppress-tags statically-linked-binary "$new" "$client" || fail "lintian finds errors"
echo "ok: lintian finds no error"

echo "making a Debian with Postgres"
mmdebstrap --variant=minbase --include=postgresql,ca-certificates "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$debian" >"$work/mmdebstrap.log" 2>&1 ||
  { tail -n 20 "$work/mmdebstrap.log" >&2; fail "mmdebstrap"; }
mount -t proc proc "$debian/proc"
mount --rbind /dev "$debian/dev"
mount --make-rslave "$debian/dev"
trap 'stop_unit; umount -R "$debian/dev" "$debian/proc" 2>/dev/null; rm -rf "$work"' EXIT
inside() { chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }

port=$(free_port)
version_of() { inside consign version; }

cp "$work/former.deb" "$debian/former.deb"
cp "$new" "$debian/new.deb"
inside dpkg -i /former.deb
[ "$(version_of)" = "consign 0.9.0" ] || fail "the former version is $(version_of)"
[ "$(stat -c %a:%U "$debian/etc/consign/consign.env")" = 640:root ] || fail "consign.env can be read by others"
[ "$(inside stat -c %a:%U:%G /var/lib/consign)" = 700:consign:consign ] || fail "/var/lib/consign can be read by others"
if grep -v '^#\|^$' "$debian/etc/consign/consign.env"; then fail "consign.env has settings that are not commented"; fi
cat >>"$debian/etc/consign/consign.env" <<ENV
CONSIGN_PUBLIC_URL=http://localhost:$port
CONSIGN_LISTEN=127.0.0.1:$port
CONSIGN_ADMIN_LISTEN=127.0.0.1:$(free_port)
CONSIGN_MAIL_FROM=Consign <noreply@example.com>
CONSIGN_PRODUCT_NAME=Files & more; it's ours
ENV
start_unit "$debian" "http://localhost:$port"
inside consign-admin person create --name Ada ada@example.com >/dev/null
stop_unit
echo "ok: the former version is installed, serves, and has a person"

inside dpkg -i /new.deb
grep -q "CONSIGN_LISTEN=127.0.0.1:$port" "$debian/etc/consign/consign.env" || fail "the upgrade replaced consign.env"
[ "$(version_of)" = "$("$(find "$work/clone/dist" -name "consign-[0-9]*-linux-$arch")" version)" ] || fail "the upgrade left $(version_of)"
start_unit "$debian" "http://localhost:$port"
grep -q Ada <<<"$(inside consign-admin person show ada@example.com)" || fail "the person is gone after the upgrade"
grep -q pgx <<<"$(inside consign-admin licenses)" || fail "consign licenses"
stop_unit
echo "ok: upgraded to $(version_of), the person and the settings are kept"

cp "$client" "$debian/client.deb"
inside dpkg -i /client.deb
[ "$(inside consign-client --version)" = "$(version_of | sed 's/^consign/consign-client version/')" ] || fail "consign-client is $(inside consign-client --version)"
echo "ok: the client is installed beside the server"

inside dpkg -r consign
[ ! -e "$debian/usr/bin/consign" ] || fail "the binary is left after removal"
inside dpkg -i /new.deb
start_unit "$debian" "http://localhost:$port"
grep -q Ada <<<"$(inside consign-admin person show ada@example.com)" || fail "the person is gone after removal and installation"
stop_unit
grep -q "/var/lib/consign is kept" <<<"$(inside dpkg -P consign)" || fail "purge does not say that the data is kept"
[ ! -e "$debian/etc/consign/consign.env" ] || fail "consign.env is left after purge"
[ -d "$debian/var/lib/consign/objects" ] || fail "purge removed the data"
echo "ok: removed, installed again, purged; the data is kept"

mkdir -p "$work/unit"
cp deploy/package/consign.service "$work/unit/"
exposure=$(systemd-analyze security --offline=true --threshold=25 --no-pager "$work/unit/consign.service" 2>&1) || { echo "$exposure" | tail -n 5; fail "the unit is less hardened than it was"; }
tail -n 1 <<<"$exposure"
