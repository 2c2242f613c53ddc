#!/usr/bin/env bash
# Tests the manifests in deploy/kubernetes: renders the example with kustomize, checks every object strictly against the schema of
# Kubernetes (kubeconform, with the OpenAPI document of k8s.io/kubernetes, a download of 22 MB), and checks that a mistake is found. Then gives the rendered
# settings to consign, and compares paths, ports and metrics with the server.
. "$(dirname "$0")/lib.sh"
cd "$root"
need python3 python3
[ -x bin/consign ] || make -s build
tool() { GOFLAGS='' go tool -modfile=test/kubernetes/tools.mod "$@"; }

kubernetes=$(cd "$work" && GOFLAGS= go mod download -json k8s.io/kubernetes@v1.37.2 | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
mkdir "$work/schemas"
python3 test/kubernetes/schemas.py "$kubernetes/api/openapi-spec/swagger.json" "$work/schemas"
check() { tool kubeconform -strict -summary -schema-location "$work/schemas/{{.ResourceKind}}{{.KindSuffix}}.json" "$1"; }

tool kustomize build deploy/kubernetes/example >"$work/rendered.yaml"
check "$work/rendered.yaml" || fail "the manifests do not fit the schema"
for mistake in 's/readOnlyRootFilesystem/readOnlyRootFileSystem/' 's/maxReplicas: 10/maxReplicas: ten/' '/maxReplicas: 10/d'; do
  sed "$mistake" "$work/rendered.yaml" >"$work/wrong.yaml"
  cmp -s "$work/rendered.yaml" "$work/wrong.yaml" && fail "the mistake $mistake changes nothing"
  if check "$work/wrong.yaml" >/dev/null 2>&1; then fail "the mistake $mistake is not found"; fi
done
echo "ok: the manifests fit the schema, three mistakes do not"
python3 test/kubernetes/settings.py "$work/rendered.yaml" bin/consign || fail "consign refuses the rendered settings"

port=$(free_port) admin=$(free_port)
start_server "$work/var" "$port" "$admin"
for path in $(sed -n 's/^ *path: \(\/[a-z]*z\)$/\1/p' "$work/rendered.yaml" | sort -u); do
  curl -fsS -o /dev/null "http://localhost:$admin$path" || fail "the admin listener does not serve $path"
done
curl -fsS "http://localhost:$admin/metrics" >"$work/metrics"
for metric in consign_uploads_in_flight consign_downloads_in_flight consign_event_streams_open; do
  grep -q "$metric" docs/use/kubernetes.md || fail "docs/use/kubernetes.md does not name $metric"
  grep -q "^$metric" "$work/metrics" || fail "there is no metric $metric"
done
echo "ok: probes and metrics are those of the server"
