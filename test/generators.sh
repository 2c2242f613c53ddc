#!/usr/bin/env bash
# What generators of others make of the OpenAPI documents that the server gives: oapi-codegen and ogen for Go, hey-api and
# openapi-typescript for TypeScript, all with their defaults. What they make of both documents must compile, and a program of each sends a
# file that the owner receives. Needs node.
. "$(dirname "$0")/lib.sh"
cd "$root"
npm_ci test/generators
port=$(free_port)
CONSIGN_NEW_TRANSFER_BUCKET=100,1/1s start_server "$work/var" "$port" "$(free_port)" --demo
server=http://localhost:$port
cp -r test/generators "$work/generators"
cd "$work/generators"
for document in identity-v3 transfer-v2; do curl -fsS "$server/api/$document.json" -o "$document.json"; done

refused() { # refused GENERATOR DOCUMENT
  cut -c 1-300 log | tail -n 20 >&2
  fail "$1 refuses $2"
}

step "oapi-codegen and ogen"
export GOFLAGS=-mod=mod
for document in identity-v3 transfer-v2; do
  package=${document//-/}
  mkdir -p "oapi/$package"
  go tool oapi-codegen -package "$package" -o "oapi/$package/client.go" "$document.json"
  go tool ogen --target "ogen/$package" --package "$package" --clean "$document.json" >log 2>&1 || refused ogen "$document"
done
mkdir bin
go build -o bin ./oapi/... ./ogen/... ./oapijob ./ogenjob

step "hey-api and openapi-typescript"
for document in identity-v3 transfer-v2; do
  node_modules/.bin/openapi-ts -i "$document.json" -o "heyapi/$document" --no-log-file >log 2>&1 || refused hey-api "$document"
  node_modules/.bin/openapi-typescript "$document.json" -o "types/$document.d.ts" >log 2>&1 || refused openapi-typescript "$document"
done
node_modules/.bin/tsc -p .
node_modules/.bin/esbuild heyapi.ts typescript.ts --bundle --platform=node --format=esm --outdir=. --out-extension:.js=.mjs \
  --log-level=error

step "each sends a file"
password=$(sed -n 's/^password: //p' "$work/var/demo.txt")
login=$(call POST "$server/id/v3/auth/login" -H 'Content-Type: application/json' \
  -d "{\"email\":\"owner@example.com\",\"type\":\"bcrypt\",\"key\":\"$password\"}" | member token)
access=$(call POST "$server/id/v3/auth/access" -H "Authorization: Bearer $login" | member token)
version() { go list -m -f '{{.Version}}' "$1" | tr -d v; }
for client in bin/oapijob bin/ogenjob 'node heyapi.mjs' 'node typescript.mjs'; do
  transfer=$($client "$server")
  call GET "$server/transfer/v2/transfers/$transfer" -H "Authorization: Bearer $access" | grep -q '"contentLength":[1-9]' ||
    fail "the owner lacks the file of $client"
  echo "ok: $client"
done
works oapi-codegen "$(version github.com/oapi-codegen/oapi-codegen/v2)" "both documents; its client sends a file"
works ogen "$(version github.com/ogen-go/ogen)" "both documents; its client sends a file"
works "@hey-api/openapi-ts" "$(npm_version @hey-api/openapi-ts test/generators)" "both documents; its client sends a file"
works openapi-typescript "$(npm_version openapi-typescript test/generators)" "both documents; its client sends a file"
