#!/bin/sh
# Arguments: Debian gives "configure" and the former version, if any; rpm gives the number of installed versions.
set -e
systemd-sysusers consign.conf 2>/dev/null ||
  getent passwd consign >/dev/null ||
  useradd --system --user-group --no-create-home --home-dir /var/lib/consign --shell /usr/sbin/nologin consign
install -d -m 0700 -o consign -g consign /var/lib/consign
chgrp consign /etc/consign/consign.env
chmod 0640 /etc/consign/consign.env
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart consign.service
fi
case "$1:$2" in
configure:|1:)
  echo "Consign is installed. Set CONSIGN_PUBLIC_URL and others in /etc/consign/consign.env, then run: systemctl enable --now consign" ;;
esac
