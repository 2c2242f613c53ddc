#!/usr/bin/env bash
# Pins the images of Dockerfile and compose.yaml by digest: "postgres:15" becomes "postgres:15@sha256:…". An image that is pinned gets
# the digest that its tag has now. Needs docker with buildx, and the registries.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v docker >/dev/null || { echo "FAILED: docker is missing: install it with buildx and run this again" >&2; exit 1; }
for file in Dockerfile compose.yaml; do
  images=$(sed -nE 's/^FROM ([^ ]+).*/\1/p; s/^ +image: ([^ ]+).*/\1/p' "$file" | grep -vx scratch | sort -u)
  for image in $images; do
    name=${image%@*}
    digest=$(docker buildx imagetools inspect "$name" --format '{{.Manifest.Digest}}')
    [[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "FAILED: $name has no digest: $digest" >&2; exit 1; }
    sed -i -E "s#^(FROM| +image:) ${image//./\\.}( |\$)#\1 $name@$digest\2#" "$file"
    echo "$file: $name@$digest"
  done
done
