# What a newcomer does, in the system of test/newcomer.sh.
set -euo pipefail
cd "$HOME"
who=$(id -un)
begin=$SECONDS
said() { echo "$who: $* ($((SECONDS - begin)) s)"; begin=$SECONDS; }
git clone -q /repository consign
cd consign
go mod download
said "cloned, modules downloaded"

make run >run.log 2>&1 &
server=$!
trap 'kill -TERM "$server" 2>/dev/null; wait "$server" 2>/dev/null || true' EXIT
for _ in $(seq 1200); do
  curl -fs -o /dev/null http://localhost:8080/readyz && break
  kill -0 "$server" 2>/dev/null || { tail -n 20 run.log; exit 1; }
  sleep 0.5
done
curl -fs -o /dev/null http://localhost:8080/m/demo || { tail -n 20 run.log; exit 1; }
said "make run serves the demo mailbox"

head -c 3000000 /dev/urandom >pictures.zip
sed -n '/^## Upload a file with curl/,/^To resume/p' README.md | sed -n '/^```$/,/^```$/p' | grep -v '^```' >recipe.sh
bash -eu recipe.sh >recipe.log 2>&1 || { cat recipe.log; exit 1; }
grep -q '^ok  *pictures.zip' recipe.log || { cat recipe.log; exit 1; }
said "the recipe of README: sent, receipt verified"
printf x >>pictures.zip
if bin/consign verify --key keys receipt.consign pictures.zip >/dev/null 2>&1; then echo "a changed file was accepted"; exit 1; fi

kill -TERM "$server"
wait "$server" 2>/dev/null || true
trap - EXIT
for _ in $(seq 60); do curl -s -o /dev/null http://localhost:8080/readyz || break; sleep 0.5; done
[ "$TEST" = yes ] || exit 0
make test
said "make test"
