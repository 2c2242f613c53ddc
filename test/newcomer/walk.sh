# What a newcomer does, in the system of test/newcomer.sh.
set -euo pipefail
cd "$HOME"
who=$(id -un)
begin=$SECONDS
said() { echo "$who: $* ($((SECONDS - begin)) s)"; begin=$SECONDS; }
until_true() { # until_true COMMAND…: waits while make run runs, ten minutes at most
  for _ in $(seq 1200); do
    "$@" >/dev/null 2>&1 && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.5
  done
  tail -n 20 run.log
  echo "$who: make run has ended, or not done this in ten minutes: $*"
  exit 1
}
git clone -q /repository consign
cd consign
go mod download
said "cloned, modules downloaded"

make run >run.log 2>&1 &
server=$!
trap 'kill -TERM "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
postgres_is_here() { compgen -G '.tools/postgres/bin/initdb' || compgen -G '/usr/lib/postgresql/*/bin/initdb'; }
until_true postgres_is_here
said "Postgres downloaded"
downloaded=$SECONDS
until_true curl -fs http://localhost:8080/readyz
curl -fs -o /dev/null http://localhost:8080/m/demo || { tail -n 20 run.log; exit 1; }
said "make run serves the demo mailbox"

head -c 3000000 /dev/urandom >pictures.zip
sed -n '/^## Upload a file with curl/,/^To resume/p' README.md | sed -n '/^```$/,/^```$/p' | grep -v '^```' >recipe.sh
bash -eu recipe.sh >recipe.log 2>&1 || { cat recipe.log; exit 1; }
grep -q '^ok  *pictures.zip' recipe.log || { cat recipe.log; exit 1; }
said "the recipe of README: sent, receipt verified"
echo "$who: that was $((SECONDS - downloaded)) s after the downloads"
printf x >>pictures.zip
if bin/consign verify --key keys receipt.consign pictures.zip >/dev/null 2>&1; then echo "a changed file was accepted"; exit 1; fi

kill -TERM "$server"
wait "$server" 2>/dev/null || true
trap - EXIT
for _ in $(seq 60); do curl -s -o /dev/null http://localhost:8080/readyz || break; sleep 0.5; done
[ "$TEST" = yes ] || exit 0
make test
said "make test"
