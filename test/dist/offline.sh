#!/usr/bin/env bash
# The part of test/dist.sh without a network: offline.sh REPOSITORY DIST DIR.
root=$1 dist=$2 shared=$3
. "$root/test/lib.sh"
cd "$work"
ip link set lo up
mount --make-rprivate /
mount -t proc proc /proc
[ "$(ip -o link | grep -vc ' lo:')" = 0 ] || fail "the namespace has other networks than loopback"
printf '127.0.0.1 localhost files.example.com hooks.example.com\n::1 localhost\n' >"$work/hosts"
mount --bind "$work/hosts" /etc/hosts
version=$(basename "$(find "$dist" -name 'consign-*.goproxy.tar')" .goproxy.tar)
version=${version#consign-}

step "go install github.com/consign-dev/consign/cmd/…@v$version"
mkdir proxy bin
others=$GOMODCACHE/cache/download
tar -xf "$dist/consign-$version.goproxy.tar" -C proxy
for command in consign consign-client; do
  GOBIN=$work/bin GOMODCACHE="$work/modules" GOPROXY="file://$work/proxy,file://$others" GOSUMDB=off GOTOOLCHAIN=local \
    GOFLAGS='-trimpath -modcacherw' \
    CGO_ENABLED=0 go install "github.com/consign-dev/consign/cmd/$command@v$version" || fail "go install $command"
done
[ "$(bin/consign version)" = "consign $version" ] || fail "the installed binary is $(bin/consign version)"
echo "ok: consign $version"

step ".deb, OCI image, Helm chart"
dpkg-deb -x "$(find "$dist" -name 'consign_*.deb')" deb
[ "$(deb/usr/bin/consign version)" = "consign $version" ] || fail "the package has another version"
gzip -t deb/usr/share/man/man8/consign.8.gz
mkdir image rootfs
tar -xf "$(find "$dist" -name '*.oci.tar' | head -n 1)" -C image
python3 - image rootfs <<'PY'
import json, subprocess, sys
image, rootfs = sys.argv[1:]
blob = lambda d: f"{image}/blobs/{d.replace(':', '/')}"
manifest = json.load(open(blob(json.load(open(f"{image}/index.json"))["manifests"][0]["digest"])))
for layer in manifest["layers"]:
    subprocess.run(["tar", "-xf", blob(layer["digest"]), "-C", rootfs], check=True)
config = json.load(open(blob(manifest["config"]["digest"])))["config"]
assert config["Entrypoint"] == ["/consign"] and config["User"] == "10001:10001", config
PY
[ "$(chroot --userspec=10001:10001 rootfs /consign version)" = "consign $version" ] || fail "the image has another version"
"$root/.tools/helm-v3.22.0" template consign "$dist/consign-chart-$version.tgz" >chart.yaml
grep -q '^kind: Deployment' chart.yaml || fail "the chart has no deployment"
echo "ok: each says $version"

step "A server behind Caddy at https://files.example.com"
mkdir run
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=files.example.com \
  -addext subjectAltName=DNS:files.example.com \
  -keyout key.pem -out ca.pem 2>openssl.log || fail "$(cat openssl.log)"
sed "s|^{\$PUBLIC_HOST} {|&\n\ttls $work/ca.pem $work/key.pem|" "$root/docs/use/proxy/Caddyfile" >Caddyfile
export CURL_CA_BUNDLE=$work/ca.pem SSL_CERT_FILE=$work/ca.pem NODE_EXTRA_CA_CERTS=$work/ca.pem HOME=$work/home CONSIGN_LOG_FORMAT=text
mkdir "$HOME"
PATH=$work/bin:$(postgres_bin):$PATH
root=$work CONSIGN_TRUSTED_PROXIES=127.0.0.1 CONSIGN_RATE_LIMIT=off public_url=https://files.example.com \
  start_server "$work/var" 8080 9090 --demo
PUBLIC_HOST=files.example.com XDG_DATA_HOME=$work/caddy XDG_CONFIG_HOME=$work/caddy \
  caddy run --config Caddyfile --adapter caddyfile >caddy.log 2>&1 &
at_exit end "$!"
server=https://files.example.com
for _ in $(seq 300); do curl -fs -o /dev/null "$server/readyz" && break; sleep 0.1; done
curl -sSI "$server/readyz" >answer || { tail -n 5 caddy.log >&2; fail "Caddy does not answer"; }
grep -q '^HTTP/2 200' answer && grep -q '^content-type: ' answer || fail "no HTTP/2 with lower-case headers: $(cat answer)"
api=$(sed -n 's/^token: *//p' var/demo.txt)
for name in ann anna; do
  export CONSIGN_DATA_DIR=$work/var CONSIGN_PUBLIC_URL=$server
  consign person create "$name@example.com" >/dev/null
  consign mailbox create "$name@example.com" $name >/dev/null
done
echo "ok: HTTP/2, lower-case headers"

step "npm install consign-client-$version.tgz"
mkdir npm
(cd npm && npm install --offline --silent --no-audit --no-fund --cache "$shared/npm" "$dist/consign-client-$version.tgz")
head -c 100000 /dev/urandom >report.pdf
cat >npm/send.mjs <<'JS'
import { connect, reserve } from "@consign/client";
import { localFile } from "@consign/client/node";
const upload = await reserve(await connect("https://files.example.com"),
  { mailbox: "demo", senderName: "Sam", senderEmail: "sam@example.com", subject: "npm" });
await upload.attach([await localFile("../report.pdf")]);
await upload.send();
console.log("ok: delivered", (await upload.confirm()).uid);
JS
(cd npm && node send.mjs) || fail "the installed npm package does not deliver"
[ -f npm/node_modules/@consign/client/dist/node.d.ts ] || fail "the npm package has no types"

# The words of examples that stand for something: the demo's address, a token.
filled() {
  sed -e "s|http://localhost:8080|$server|g; s|cns_…|$api|g; s|bin/consign |consign |g" "$1"
}
before() { # what a reader has before the examples of a document
  case $1 in
    integrate.md)
      ln -s ../../var var ;;
    uploads.md)
      export SERVER=$server
      reserve "$server/transfer/v2" Uploads
      export RESERVATION=${reservation##*/} TOKEN=${token#Bearer } ;;
    receipts.md)
      reserve "$server/transfer/v2" Receipt
      attach report.pdf a
      curl -fsS -T report.pdf -H "Authorization: $token" "$content"
      call POST "$reservation/confirm" -H "Authorization: $token" >/dev/null
      for _ in $(seq 100); do
        curl -fs "$reservation/receipt" -H "Authorization: $token" -o receipt.consign
        [ ! -s receipt.consign ] || break
        sleep 0.2
      done ;;
  esac
}

ran=0 left=0 broken=0
for document in README.md docs/use/{integrate,uploads,receipts,operations}.md $(cd "$shared/repository" && ls docs/use/tutorials/*.md); do
  step "$document"
  name=$(basename "$document") dir=$work/run/$(basename "$document" .md)
  mkdir -p "$dir/blocks"
  awk -v out="$dir/blocks" -f "$shared/blocks.awk" "$shared/repository/$document" >"$dir/list"
  [ -s "$dir/list" ] || { echo "no shell block"; continue; }
  cp report.pdf "$dir/report.pdf"
  cp report.pdf "$dir/pictures.zip"
  mkdir -p "$dir/project" && cp report.pdf "$dir/project"
  (cd "$dir" && cp ../../report.pdf . )
  pushd "$dir" >/dev/null
  before "$name"
  : >state
  while IFS=$'\t' read -r number line reason; do
    if [ -n "$reason" ]; then
      left=$((left + 1))
      echo "not run: $document:$line: $reason"
      continue
    fi
    {
      echo 'set -eo pipefail; shopt -s expand_aliases; . ./state'
      echo 'curl() { if [[ " $* " =~ \ -[a-zA-Z]*f ]]; then command curl "$@"; else command curl --fail-with-body "$@"; fi; }'
      filled "blocks/$number.sh"
      echo 'declare -p S T I R RES TOKEN ID CODE SHOWN CONSIGN_SERVER CONSIGN_TOKEN 2>/dev/null >state || true'
    } >"$number.sh"
    if timeout 120 bash "$number.sh" >"$number.log" 2>&1 </dev/null; then
      ran=$((ran + 1))
      echo "ok: $document:$line"
    else
      broken=$((broken + 1))
      echo "FAILED: $document:$line"
      tail -n 8 "$number.log" | cut -c1-300
    fi
  done <list
  popd >/dev/null
done
echo
echo "$ran passed, $broken failed, $left not run"
[ "$broken" = 0 ] || fail "$broken examples do not work"
[ "$ran" -ge 8 ] || fail "only $ran examples were found"
