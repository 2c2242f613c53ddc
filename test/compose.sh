#!/usr/bin/env bash
# Tests the unchanged Dockerfile and compose.yaml with a real Docker engine. Builds the image, starts all services, uploads and
# downloads a file through Caddy, kills a replica during an upload, scales to three replicas, stops everything and starts it again. Then
# starts each variant of contrib/compose, and uploads and downloads a file there.
# Uses the running Docker daemon. Without one, root starts a private daemon. Images that no registry delivers are replaced by stand-in
# images with the same programs from Debian. Uses ports 80 and 443.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl
need openssl openssl
need caddy caddy # the variant caddy runs it beside Docker
stand_ins="$root/.tools/docker" # data directory of the private daemon; later runs reuse its images

for port in 80 443; do
  ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || fail "port $port is in use, but compose.yaml publishes it: stop the process that listens there and run this again"
done

start_docker() { # start a private daemon unless one is already running
  local pid
  docker info >/dev/null 2>&1 && return
  [ "$(id -u)" = 0 ] || fail "no Docker daemon is running: start it, or run this as root (sudo make test-compose), which starts a private one"
  need dockerd docker.io
  need iptables iptables
  mkdir -p "$stand_ins"
  export DOCKER_HOST="unix://$work/docker.sock"
  dockerd --data-root "$stand_ins" --exec-root "$work/docker" -H "$DOCKER_HOST" --pidfile "$work/docker.pid" >"$work/docker.log" 2>&1 &
  pid=$!
  at_exit end "$pid"
  for _ in $(seq 300); do
    docker info >/dev/null 2>&1 && return
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  tail -n 5 "$work/docker.log" >&2
  fail "the Docker daemon did not start within 30 s"
}

stand_in() { # stand_in IMAGE: builds IMAGE from Debian's and this machine's programs, with the entry point of the real image
  local image=$1 context="$work/stand-in"
  mkdir -p "$context"
  if ! docker image inspect consign-stand-in >/dev/null 2>&1; then
    need debootstrap debootstrap
    echo "building the Debian base for stand-in images (once, about two minutes)"
    debootstrap --variant=minbase --include=ca-certificates,postgresql,redis-server,caddy bookworm "$work/debian" >"$work/debootstrap.log" 2>&1 ||
      { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap failed"; }
    tar -C "$work/debian" --exclude=./var/cache/apt --exclude=./var/lib/apt/lists -c . | docker import - consign-stand-in >/dev/null
    rm -rf "$work/debian"
  fi
  {
    echo 'FROM consign-stand-in'
    case $image in
    postgres:*)
      cp test/compose/postgres "$context/entrypoint"
      printf 'ENV PATH=%s:/usr/sbin:/usr/bin:/sbin:/bin\nCOPY entrypoint /entrypoint\nENTRYPOINT ["/entrypoint"]\n' /usr/lib/postgresql/15/bin
      ;;
    redis:*) printf 'ENTRYPOINT ["/bin/sh", "-c", "exec \\"$0\\" \\"$@\\" --protected-mode no"]\n' ;; # the real image is built with protected mode off
    caddy:*) printf 'ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config\nCMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]\n' ;;
    versity/versitygw:*)
      cp "$(versitygw)" "$context/versitygw"
      printf 'COPY versitygw /versitygw\nENTRYPOINT ["/versitygw"]\n'
      ;;
    golang:*)
      cp /etc/ssl/certs/ca-certificates.crt "$context/certificates"
      cp -r "$(go env GOROOT)" "$context/go"
      printf 'COPY certificates /etc/ssl/certs/ca-certificates.crt\nCOPY go /usr/local/go\nENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin GOPATH=/go GOTOOLCHAIN=local GOPROXY=%s\n' "$(go env GOPROXY)"
      ;;
    *) fail "the image $image cannot be pulled, and this script has no stand-in for it" ;;
    esac
  } >"$context/Dockerfile"
  DOCKER_BUILDKIT=0 docker build -q -t "$image" "$context" >/dev/null
  rm -rf "$context"
}

variant=() # further arguments of compose: the file of a variant
compose() { "$program" -p "$project" -f compose.yaml ${variant[@]+"${variant[@]}"} "$@"; } # with a project name unique to this run

replicas() { compose ps -q consign; }

consign() { docker exec "$(replicas | head -n 1)" /consign "$@"; }

state() { docker inspect -f "$2" "$1"; } # state CONTAINER FORMAT

wait_healthy() { # wait_healthy NUMBER: waits until NUMBER replicas pass the image's health check and Caddy reports ready
  local healthy id
  for _ in $(seq 120); do
    healthy=0
    for id in $(replicas); do
      [ "$(state "$id" '{{.State.Running}} {{.State.Health.Status}}')" != "true healthy" ] || healthy=$((healthy + 1))
    done
    [ "$healthy" -lt "$1" ] || { [ "$(curl -s -o /dev/null -w '%{http_code}' "${curl_options[@]}" "$url/readyz")" != 200 ] || return 0; }
    sleep 1
  done
  compose logs --tail 20 >&2
  fail "there were not $1 healthy replicas after 120 attempts"
}

receive() { # downloads the newest transfer's file through Caddy and compares it with $work/sent
  local uid object
  call GET "$transfer/transfers?location=received&limit=1" -H "Authorization: Bearer $access" >"$work/list"
  uid=$(sed -E 's/.*"transfers":\[\{"uid":"([^"]+)".*/\1/' "$work/list")
  call GET "$transfer/transfers/$uid" -H "Authorization: Bearer $access" >"$work/transfer"
  object=$(sed -E 's/.*"objects":\[\{"uid":"([^"]+)".*/\1/' "$work/transfer")
  curl -sS -f "${curl_options[@]}" -H "Authorization: Bearer $access" -o "$work/received" "$transfer/transfers/$uid/objects/$object/content"
  cmp "$work/sent" "$work/received" || fail "the downloaded file differs from the uploaded one"
}

step "Images"
start_docker
program=$(compose_program)
docker version -f 'Docker {{.Server.Version}}, {{.Server.Os}}/{{.Server.Arch}}'
for image in $(sed -nE 's/^FROM ([a-z]+:[^ ]+).*/\1/p' Dockerfile) $(sed -nE 's/^ +image: //p' compose.yaml); do
  if docker image inspect "$image" >/dev/null 2>&1; then
    echo "$image: already present"
  elif docker pull -q "$image" >/dev/null 2>&1; then
    echo "$image: pulled from the registry"
  else
    stand_in "$image"
    echo "$image: replaced by a stand-in, the pull failed"
  fi
done

step "Build and start"
project="consign-test-$$" url=https://localhost transfer=https://localhost/transfer/v2
export PUBLIC_HOST=localhost SMTP_URL="" MAIL_FROM="" CONSIGN_SECRET_KEY POSTGRES_PASSWORD S3_SECRET_KEY # the environment overrides .env
CONSIGN_SECRET_KEY=$(openssl rand -base64 32) POSTGRES_PASSWORD=$(openssl rand -hex 24) S3_SECRET_KEY=$(openssl rand -hex 24)
at_exit "compose down -v --rmi local --remove-orphans >/dev/null 2>&1"
DOCKER_BUILDKIT=0 compose build >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2; fail "the image build failed"; }
compose up -d >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log" >&2; fail "compose up failed"; }
curl_options=(--cacert "$work/root.crt")
fetch_root() { # the certificate of the authority that Caddy has made
  for _ in $(seq 100); do
    docker cp "$(compose ps -q caddy):/data/caddy/pki/authorities/local/root.crt" "$work/root.crt" >/dev/null 2>&1 && return
    sleep 0.2
  done
  fail "Caddy has made no certificate"
}
fetch_root
wait_healthy 1
id=$(replicas)
image=$(state "$id" '{{.Image}}')
echo "healthy; the image has $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB with fonts"
for want in "{{.Config.User}}=10001:10001" "{{.HostConfig.ReadonlyRootfs}}=true" "{{.HostConfig.CapDrop}}=[ALL]" "{{.HostConfig.SecurityOpt}}=[no-new-privileges:true]"; do
  [ "$(state "$id" "${want%%=*}")" = "${want#*=}" ] || fail "the container has ${want%%=*} $(state "$id" "${want%%=*}"), not ${want#*=}"
done

step "Upload and download through Caddy; the replica is killed during the upload"
make_ann() { # a person with a mailbox; sets password and access
  password=$(consign person create --name Ann ann@example.com | first_password "$url/id/v3")
  consign mailbox create ann@example.com demo
  access=$(sign_in "$url/id/v3" ann@example.com "$password")
}
make_ann
head -c 50000000 /dev/urandom >"$work/sent"
reserve "$transfer" "By way of compose"
attach "$work/sent" file
send_range "$work/sent" 0 20000000 "$content" "$token" -o /dev/null
send_range "$work/sent" 20000000 50000000 "$content" "$token" -o /dev/null --limit-rate 5M 2>/dev/null &
sender=$!
sleep 2
docker kill "$id" >/dev/null # with SIGKILL
! wait "$sender" || fail "the upload survived the server"
docker start "$id" >/dev/null
wait_healthy 1
at=$(held "$content" "$token")
[ "$at" -ge 20000000 ] || fail "20,000,000 bytes were acknowledged, only $at are stored after the restart"
echo "after the kill and restart $at of 50,000,000 bytes are stored"
send_range "$work/sent" "$at" 50000000 "$content" "$token" -o /dev/null
call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
receive

step "Three replicas"
compose up -d --scale consign=3 >"$work/scale.log" 2>&1 || { tail -n 20 "$work/scale.log" >&2; fail "scaling to three replicas failed"; }
wait_healthy 3
reserve "$transfer" "By way of three"
attach "$work/sent" file
for at in 0 10000000 20000000 30000000 40000000; do
  send_range "$work/sent" "$at" $((at + 10000000)) "$content" "$token" -o /dev/null
done
call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
receive
: >"$work/statuses"
while [ ! -e "$work/restarted" ]; do
  curl -s "${curl_options[@]}" -o /dev/null -w '%{http_code}\n' "$transfer/environment" >>"$work/statuses" || true
done &
caller=$!
for id in $(replicas); do
  docker restart "$id" >/dev/null
  wait_healthy 3
done
touch "$work/restarted"
wait "$caller"
busy=0
for id in $(replicas); do
  [ -z "$(docker logs "$id" 2>&1 | grep -F '"route":"/transfer/v2/' | head -n 1)" ] || busy=$((busy + 1))
done
[ "$busy" = 3 ] || fail "only $busy of 3 replicas answered requests"
failed=$(grep -cv '^200$' "$work/statuses") || true
[ "$failed" = 0 ] || fail "$failed of $(wc -l <"$work/statuses") requests failed during the rolling restart: $(sort "$work/statuses" | uniq -c | tr '\n' ' ')"
echo "all three replicas answered; none of $(wc -l <"$work/statuses") requests failed during the rolling restart"

step "Down and up again"
compose stop consign >/dev/null 2>&1
for id in $(docker ps -aq --filter "label=com.docker.compose.project=$project" --filter label=com.docker.compose.service=consign); do
  [ "$(state "$id" '{{.State.ExitCode}}')" = 0 ] || fail "a stopped replica exited with code $(state "$id" '{{.State.ExitCode}}')"
done
compose down >/dev/null 2>&1
compose up -d >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log" >&2; fail "the second compose up failed"; }
wait_healthy 1
access=$(sign_in "$url/id/v3" ann@example.com "$password")
receive
consign fsck

start_bucket() { # an S3 server that compose.yaml does not have, with a key of its own; sets bucket
  bucket=$(docker run -d --network "${project}_inside" --network-alias own-bucket -v /data/files \
    -e "ROOT_ACCESS_KEY=$S3_ACCESS_KEY" -e "ROOT_SECRET_KEY=$S3_SECRET_KEY" \
    "$(sed -nE 's/^ +image: (versity.*)/\1/p' compose.yaml)" --port :7070 --region us-east-1 posix /data)
  at_exit "docker rm -fv $bucket >/dev/null 2>&1"
}

start_caddy() { # a Caddy of this machine, with docs/use/proxy/Caddyfile; its authority must not come into the machine's list
  perl -0pe 's/^\{\n/{\n\tadmin off\n\tskip_install_trust\n/m' docs/use/proxy/Caddyfile >"$work/Caddyfile"
  XDG_DATA_HOME="$work" XDG_CONFIG_HOME="$work" HOME="$work" \
    caddy run --config "$work/Caddyfile" --adapter caddyfile >"$work/caddy.log" 2>&1 &
  at_exit end $!
  curl_options=(--cacert "$work/caddy/pki/authorities/local/root.crt")
}

export S3_ACCESS_KEY=own S3_URL='s3://files?endpoint=http://own-bucket:7070&region=us-east-1'
for name in disk bucket caddy; do
  step "Variant $name"
  compose down -v >/dev/null 2>&1
  variant=(-f "contrib/compose/$name.yaml")
  compose create >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log" >&2; fail "compose create failed"; }
  [ "$name" != bucket ] || start_bucket
  compose up -d >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log" >&2; fail "compose up failed"; }
  if [ "$name" = caddy ]; then start_caddy; else fetch_root; fi
  wait_healthy 1
  make_ann
  reserve "$transfer" "By way of $name"
  attach "$work/sent" file
  send_range "$work/sent" 0 50000000 "$content" "$token" -o /dev/null
  call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
  receive
  consign fsck
  case $name in
  disk) place="$(replicas):/data/objects" ;;
  bucket) place="$bucket:/data/files" ;;
  caddy) place="$(compose ps -q s3):/data/consign" ;;
  esac
  bytes=$(docker cp "$place" - | wc -c)
  [ "$bytes" -ge 50000000 ] || fail "only $bytes bytes are in $place"
  [ "$name" != bucket ] || docker rm -fv "$bucket" >/dev/null
done
step "Done: the unchanged Dockerfile, compose.yaml and its variants work."
