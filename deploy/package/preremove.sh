#!/bin/sh
# Stops the service when the package goes away, not when a newer version follows.
set -e
case "$1" in
remove|0)
  if [ -d /run/systemd/system ]; then systemctl disable --now consign.service; fi ;;
esac
