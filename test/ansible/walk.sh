#!/usr/bin/env bash
# The part of test/ansible.sh in namespaces of mounts and processes: walk.sh REPOSITORY CHROOT. DEB is the package.
root=$1 debian=$2
. "$root/test/lib.sh"
cd "$root"
mount --make-rprivate /
mount -t proc proc "$debian/proc"
mount --rbind /dev "$debian/dev"

host=files.localhost # Caddy makes certificates of its own for such names
secret=$(openssl rand -base64 32)
mkdir -p "$debian/etc/postgresql-common"
echo "listen_addresses = ''" >"$debian/etc/postgresql-common/createcluster.conf" # other servers of this machine have its port
# Without an init system, packages start nothing unless this says so.
printf '#!/bin/sh\n[ "$1" = postgresql ] || exit 101\n' >"$debian/usr/sbin/policy-rc.d"
chmod +x "$debian/usr/sbin/policy-rc.d"
echo "$host ansible_host=$debian ansible_connection=community.general.chroot ansible_user=root" >"$work/inventory"
play() { # play [arguments]: runs the playbook as its head says, but in the chroot
  ansible-playbook -i "$work/inventory" \
    -e "consign_deb=$DEB" -e "secret_key=$secret" --diff "$@" contrib/ansible/consign.yaml >"$work/play.log" 2>&1
}
play_well() { play "$@" || { tail -n 30 "$work/play.log" >&2; fail "the playbook"; }; }
changed() { sed -nE "s/^$host .* changed=([0-9]+) .* failed=0 .*/\1/p" "$work/play.log"; }
settings=$debian/etc/consign/consign.env

step "A first installation"
play_well
[ "$(changed)" -gt 0 ] || fail "the first run changed nothing"
[ "$(stat -c %a "$settings"):$(chroot "$debian" stat -c %U:%G /etc/consign/consign.env)" = 640:root:consign ] ||
  fail "consign.env can be read by others"
if grep -qF "$secret" "$work/play.log"; then fail "the output has the secret key"; fi
for unit in consign caddy postgresql; do
  [ -L "$debian/etc/systemd/system/multi-user.target.wants/$unit.service" ] || fail "$unit does not start at boot"
done
echo "ok: $(changed) changes"

step "The same again"
play_well
[ "$(changed)" = 0 ] || { grep -B 3 '^changed' "$work/play.log" >&2; fail "the second run changed $(changed)"; }
echo "ok: 0 changes"

step "Settings"
cp -p "$settings" "$work/former"
if play -e "$(printf '{"consign_settings": {"CONSIGN_PUBLIC_URL": "https://%s", "CONSIGN_SECRET_KEY": "%s", "CONSIGN_X": 1}}' \
  "$host" "$secret")"; then
  fail "a wrong setting is accepted"
fi
grep -q 'CONSIGN_X is not a setting' "$work/play.log" || { tail -n 20 "$work/play.log" >&2; fail "it does not say what is wrong"; }
if play -e "$(printf '{"consign_settings": {"CONSIGN_PUBLIC_URL": "https://%s", "CONSIGN_PRODUCT_NAME": "a\\nCONSIGN_LISTEN=:1"}}' \
  "$host")"; then
  fail "a value of two lines is accepted"
fi
cmp "$settings" "$work/former" || fail "wrong settings were written"
# shellcheck disable=SC2016 # nothing may expand it
name='Files & "more"; it'\''s \ $HOME %h'
play_well -e "$(python3 -c 'import json, sys; print(json.dumps({"consign_settings": dict(zip(
  ["CONSIGN_PUBLIC_URL", "CONSIGN_SECRET_KEY", "CONSIGN_PRODUCT_NAME"], sys.argv[1:]))}))' "https://$host" "$secret" "$name")"
[ "$(changed)" -gt 0 ] || fail "a new setting changes nothing"
got=$(chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin consign-admin config | sed -n 's/^CONSIGN_PRODUCT_NAME=//p')
[ "$got" = "$name" ] || fail "the name of the product is $got"
echo "ok: wrong ones change nothing, and odd characters arrive"

step "Server and Caddy"
export work debian host
export -f fail start_unit stop_unit end
unshare --net -- bash -euc '
  ip link set lo up
  echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start # the unit has the capability
  start_unit "$debian" http://127.0.0.1:8080
  trap stop_unit EXIT
  drop_in=$debian/etc/systemd/system/caddy.service.d/consign.conf
  command=$(sed -n "s/^ExecStart=//p" "$debian/lib/systemd/system/caddy.service")
  chroot --userspec=caddy:caddy "$debian" env -i HOME=/var/lib/caddy "$(sed -n "s/^Environment=//p" "$drop_in")" $command \
    >"$work/caddy.log" 2>&1 &
  caddy=$!
  trap "end $caddy; stop_unit" EXIT
  authority=$debian/var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt
  for _ in $(seq 150); do
    [ "$(curl -s --cacert "$authority" -o "$work/ready" -w "%{http_code}" "https://$host/readyz" || true)" != 200 ] || break
    sleep 0.2
  done
  grep -q ready "$work/ready" || { tail -n 20 "$work/caddy.log" >&2; fail "https://$host/readyz: $(cat "$work/ready")"; }
  curl -fsS --cacert "$authority" "https://$host/transfer/v2/environment" | grep -q serverVersion || fail "the API behind Caddy"
  chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin consign-admin person create --name Ada ada@example.com |
    grep -q "https://$host/reset/" ||
    fail "consign-admin does not print a link"
'
echo "ok: /readyz answers behind Caddy, from the installed unit, with the database of the user consign"
