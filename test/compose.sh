#!/usr/bin/env bash
# Dockerfile and compose.yaml as they are, in a real Docker: builds the image, brings everything up, does the main job through Caddy, kills
# a replica during an upload, scales to three, takes all down and up again. Uses the Docker that runs here, else (as root) one of its own.
# Images that cannot be had from a registry are stood in for by the same programs from Debian. Takes ports 80 and 443.
. "$(dirname "$0")/lib.sh"
cd "$root"
need curl curl
need openssl openssl
stand_ins="$root/.tools/docker" # the data of a Docker of our own: the images in it are used again

for port in 80 443; do
  ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || fail "something listens on port $port, which compose.yaml publishes: end it and run this again"
done

start_docker() { # one of our own, unless one answers
  local pid
  docker info >/dev/null 2>&1 && return
  [ "$(id -u)" = 0 ] || fail "no Docker answers: start it, or run this as root (sudo make test-compose) for one of its own"
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
  fail "Docker does not start here"
}

stand_in() { # stand_in IMAGE: the programs of an image from Debian and from this machine, started as the image starts them
  local image=$1 context="$work/stand-in"
  mkdir -p "$context"
  if ! docker image inspect consign-stand-in >/dev/null 2>&1; then
    need debootstrap debootstrap
    echo "making a Debian to stand in for images (two minutes, once)"
    debootstrap --variant=minbase --include=ca-certificates,postgresql,redis-server,caddy bookworm "$work/debian" >"$work/debootstrap.log" 2>&1 ||
      { tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap ended with an error"; }
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
    redis:*) printf 'ENTRYPOINT ["/bin/sh", "-c", "exec \\"$0\\" \\"$@\\" --protected-mode no"]\n' ;; # as the image is built
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
    *) fail "there is no stand-in for the image $image, and no registry has it" ;;
    esac
  } >"$context/Dockerfile"
  DOCKER_BUILDKIT=0 docker build -q -t "$image" "$context" >/dev/null
  rm -rf "$context"
}

compose() { # whichever compose is there, with a project of its own
  if docker compose version >/dev/null 2>&1; then
    docker compose -p "$project" "$@"
  else
    docker-compose -p "$project" "$@"
  fi
}

replicas() { compose ps -q consign; }

consign() { docker exec "$(replicas | head -n 1)" /consign "$@"; }

state() { docker inspect -f "$2" "$1"; } # state CONTAINER FORMAT

wait_healthy() { # wait_healthy NUMBER: until so many replicas are healthy, by the image's own health check
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
  fail "$1 healthy replicas are awaited in vain"
}

receive() { # the newest transfer's file, from whichever replica Caddy asks
  local uid object
  call GET "$transfer/transfers?location=received&limit=1" -H "Authorization: Bearer $access" >"$work/list"
  uid=$(sed -E 's/.*"transfers":\[\{"uid":"([^"]+)".*/\1/' "$work/list")
  call GET "$transfer/transfers/$uid" -H "Authorization: Bearer $access" >"$work/transfer"
  object=$(sed -E 's/.*"objects":\[\{"uid":"([^"]+)".*/\1/' "$work/transfer")
  curl -sS -f "${curl_options[@]}" -H "Authorization: Bearer $access" -o "$work/received" "$transfer/transfers/$uid/objects/$object/content"
  cmp "$work/sent" "$work/received" || fail "the file came back changed"
}

step "Images"
start_docker
docker compose version >/dev/null 2>&1 || need docker-compose docker-compose
docker version -f 'Docker {{.Server.Version}}, {{.Server.Os}}/{{.Server.Arch}}'
for image in $(sed -nE 's/^FROM ([a-z]+:[^ ]+).*/\1/p' Dockerfile) $(sed -nE 's/^ +image: //p' compose.yaml); do
  if docker image inspect "$image" >/dev/null 2>&1; then
    echo "$image: here"
  elif docker pull -q "$image" >/dev/null 2>&1; then
    echo "$image: from the registry"
  else
    stand_in "$image"
    echo "$image: stood in for, no registry answers"
  fi
done

step "Build and start"
project="consign-test-$$" url=https://localhost transfer=https://localhost/transfer/v2
export PUBLIC_HOST=localhost SMTP_URL="" MAIL_FROM="" CONSIGN_SECRET_KEY POSTGRES_PASSWORD S3_SECRET_KEY # before any .env
CONSIGN_SECRET_KEY=$(openssl rand -base64 32) POSTGRES_PASSWORD=$(openssl rand -hex 24) S3_SECRET_KEY=$(openssl rand -hex 24)
at_exit "compose down -v --rmi local --remove-orphans >/dev/null 2>&1"
DOCKER_BUILDKIT=0 COMPOSE_DOCKER_CLI_BUILD=0 compose build >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2; fail "the image cannot be built"; }
compose up -d >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log" >&2; fail "compose.yaml cannot be brought up"; }
caddy=$(compose ps -q caddy)
for _ in $(seq 100); do
  docker cp "$caddy:/data/caddy/pki/authorities/local/root.crt" "$work/root.crt" >/dev/null 2>&1 && break
  sleep 0.2
done
curl_options=(--cacert "$work/root.crt")
wait_healthy 1
id=$(replicas)
image=$(state "$id" '{{.Image}}')
echo "an image of $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB with the fonts, healthy"
for want in "{{.Config.User}}=10001:10001" "{{.HostConfig.ReadonlyRootfs}}=true" "{{.HostConfig.CapDrop}}=[ALL]" "{{.HostConfig.SecurityOpt}}=[no-new-privileges:true]"; do
  [ "$(state "$id" "${want%%=*}")" = "${want#*=}" ] || fail "the container runs with ${want%%=*} $(state "$id" "${want%%=*}"), not ${want#*=}"
done

step "The main job through Caddy, a replica killed during the upload"
password=$(consign person create --name Ann ann@example.com | sed -n 's/.*password: *//p')
consign mailbox create ann@example.com demo
access=$(sign_in "$url/id/v3" ann@example.com "$password")
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
[ "$at" -ge 20000000 ] || fail "of 20,000,000 bytes that were acknowledged $at are left"
echo "killed; $at of 50,000,000 bytes are held after the restart"
send_range "$work/sent" "$at" 50000000 "$content" "$token" -o /dev/null
call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
receive

step "Three replicas"
compose up -d --scale consign=3 >"$work/scale.log" 2>&1 || { tail -n 20 "$work/scale.log" >&2; fail "compose.yaml cannot be scaled"; }
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
[ "$busy" = 3 ] || fail "of three replicas $busy answered"
failed=$(grep -cv '^200$' "$work/statuses") || true
[ "$failed" = 0 ] || fail "$failed of $(wc -l <"$work/statuses") requests failed while one replica after the other was restarted: $(sort "$work/statuses" | uniq -c | tr '\n' ' ')"
echo "all three answered; none of $(wc -l <"$work/statuses") requests failed while one after the other was restarted"

step "Down and up again"
compose stop consign >/dev/null 2>&1
for id in $(docker ps -aq --filter "label=com.docker.compose.project=$project" --filter label=com.docker.compose.service=consign); do
  [ "$(state "$id" '{{.State.ExitCode}}')" = 0 ] || fail "a replica ended with $(state "$id" '{{.State.ExitCode}}') when it was stopped"
done
compose down >/dev/null 2>&1
compose up -d >"$work/up.log" 2>&1 || { tail -n 20 "$work/up.log" >&2; fail "compose.yaml cannot be brought up again"; }
wait_healthy 1
access=$(sign_in "$url/id/v3" ann@example.com "$password")
receive
consign fsck
step "Done: the image and compose.yaml work as they are written."
