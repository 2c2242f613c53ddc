#!/usr/bin/env bash
# Ends the primary of two Postgres with streaming replication under load and promotes the standby, with the settings of
# docs/use/operations.md: once with synchronous replication, where no acknowledged delivery may be lost, and once without, where the lost
# ones are counted. The standby lags for three seconds before.
. "$(dirname "$0")/lib.sh"
cd "$root"
export PATH="$(postgres_bin):$PATH"

as_postgres_in() { # as_postgres_in DIR: makes a directory of user postgres
  if [ "$(id -u)" = 0 ]; then install -d -o postgres -m 700 "$1"; else mkdir -m 700 "$1"; fi
}

standby_of() { # standby_of DIR: starts a standby of the primary in DIR, in DIR/standby
  as_postgres_in "$1/standby"
  as_postgres pg_basebackup -h "$1/postgres" -U consign -D "$1/standby/data" -R -X stream -C -S standby --checkpoint=fast
  echo "primary_conninfo = 'host=$1/postgres user=consign application_name=standby'" |
    as_postgres tee -a "$1/standby/data/postgresql.auto.conf" >/dev/null
  chmod 755 "$1/standby"
  as_postgres pg_ctl -D "$1/standby/data" -w -l "$1/standby/log" \
    -o "-c listen_addresses=127.0.0.1 -c port=$standby_port -k $1/standby" start >/dev/null
  at_exit "as_postgres pg_ctl -D '$1/standby/data' -m fast -w stop >/dev/null"
}

for mode in ${MODES:-synchronous asynchronous}; do
  step "Failover with $mode replication"
  place="$work/$mode" primary_port=$(free_port) standby_port=$(free_port)
  start_postgres "$place"
  as_postgres pg_ctl -D "$place/postgres/data" -w -l "$place/postgres/log" \
    -o "-c listen_addresses=127.0.0.1 -c port=$primary_port -k $place/postgres" restart >/dev/null
  export PGPORT=$primary_port
  standby_of "$place"
  if [ "$mode" = synchronous ]; then
    psql -Xq -h "$place/postgres" -U consign consign -c "ALTER SYSTEM SET synchronous_standby_names = 'standby'" \
      -c "SELECT pg_reload_conf()" >/dev/null
    for _ in $(seq 100); do
      [ "$(psql -XAt -h "$place/postgres" -U consign consign -c "SELECT sync_state FROM pg_stat_replication")" = sync ] && break
      sleep 0.1
    done
  fi
  unset PGPORT
  cat >"$place/promote" <<PROMOTE
#!/usr/bin/env bash
. "$root/test/lib.sh"
export PATH="$PATH"
sender=\$(psql -XAt -h "$place/postgres" -p $primary_port -U consign consign -c "SELECT pid FROM pg_stat_replication")
kill -STOP "\$sender" # the standby lags
sleep 3
as_postgres pg_ctl -D "$place/postgres/data" -m immediate -W stop
kill -KILL "\$sender" # it must not send what it has meanwhile
for _ in \$(seq 100); do [ -e "$place/postgres/data/postmaster.pid" ] || break; sleep 0.1; done
as_postgres pg_ctl -D "$place/standby/data" -w promote
PROMOTE
  chmod 755 "$place/promote"
  hosts="127.0.0.1:$primary_port,127.0.0.1:$standby_port"
  FAILOVER_MODE=$mode FAILOVER_PROMOTE="$place/promote" \
    FAILOVER_URL="postgres://consign@$hosts/consign?target_session_attrs=read-write&connect_timeout=2" \
    go test -tags campaign -count=1 -v -timeout 10m -run '^TestFailover$' ./test/campaign
done
