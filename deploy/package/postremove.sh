#!/bin/sh
# Purging the package keeps the files of people and the user who owns them.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
if [ "$1" = purge ] && [ -d /var/lib/consign ]; then
  echo "/var/lib/consign is kept: it has the files and the keys of Consign. Remove it yourself when nobody needs them."
fi
