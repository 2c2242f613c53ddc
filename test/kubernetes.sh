#!/usr/bin/env bash
# Tests the manifests in deploy/kubernetes: renders the example with kustomize, checks every object strictly against the schema of
# Kubernetes (kubeconform, with the OpenAPI document of k8s.io/kubernetes, a download of 22 MB), and checks that a mistake is found. Renders the
# Helm chart (helm is built from the Go proxy), checks it, too, and compares its objects with those of kustomize. Then gives the rendered settings to
# consign, compares them with network policy and volume, and paths and metrics with the server.
. "$(dirname "$0")/lib.sh"
cd "$root"
need python3 python3
python3 -c 'import yaml' 2>/dev/null || fail "python3-yaml is missing"
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

[ -x .tools/helm-v3.22.0 ] || { GOFLAGS='' GOBIN="$work" go install helm.sh/helm/v3/cmd/helm@v3.22.0 && mkdir -p .tools && mv "$work/helm" .tools/helm-v3.22.0; }
helm() { .tools/helm-v3.22.0 "$@"; }
helm lint --strict --quiet deploy/kubernetes || fail "helm lint finds a mistake"
helm template consign deploy/kubernetes >"$work/chart.yaml"
check "$work/chart.yaml" || fail "the chart does not fit the schema"
python3 test/kubernetes/compare.py "$work/chart.yaml" "$work/rendered.yaml" || fail "chart and manifests differ"
for difference in 's/maxSurge: 1/maxSurge: 2/' 's/port: 3310/port: 3311/' 's/name: consign-tls/name: other/;s/secretName: consign-tls/secretName: other/'; do
  sed "$difference" "$work/chart.yaml" >"$work/wrong.yaml"
  if python3 test/kubernetes/compare.py "$work/wrong.yaml" "$work/rendered.yaml" >/dev/null; then fail "the difference $difference is not found"; fi
done
helm template consign deploy/kubernetes --set image=example.org/c:2,existingSecret=vault,ingress.host=a.example.org,settings.CONSIGN_UPLOADS=7 \
  --set patches.deployment.spec.replicas=2 --set secrets.CONSIGN_REDIS_URL=redis://r >"$work/own.yaml"
check "$work/own.yaml" || fail "the chart with values does not fit the schema"
for line in 'image: example.org/c:2' 'name: vault' 'host: a.example.org' 'CONSIGN_PUBLIC_URL: "https://a.example.org"' 'CONSIGN_UPLOADS: "7"' 'replicas: 2'; do
  grep -qF "$line" "$work/own.yaml" || fail "the chart does not use the value of $line"
done
if grep -q '^kind: Secret' "$work/own.yaml"; then fail "the chart makes a secret beside existingSecret"; fi
echo "ok: the chart has the objects of the manifests, and uses its values"

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
