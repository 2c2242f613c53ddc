#!/usr/bin/env bash
# A release as a stranger gets it. Makes it, or takes DIST=DIR, and enters a network namespace with nothing but loopback. There it installs
# each artefact by its name: the Go module from the release's proxy directory, the npm package, the .deb (unpacked), the OCI image
# (unpacked, run without an engine), the Helm chart (rendered). Then it serves with the installed binary behind Caddy, TLS and HTTP/2, at
# https://files.example.com, and runs the shell blocks of README, integrate, uploads, receipts, operations and the tutorials, in the order
# of each document. A block that does not run has a line above it: <!-- not run: REASON -->, or <!-- test/NAME.sh runs this … -->.
# Both are printed. Other modules than Consign come from the module cache, other npm packages from npm's cache, which a first
# installation fills.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "a network namespace needs root: run sudo make dist-check"
need unshare util-linux
need ip iproute2
need buildah buildah
need caddy caddy
need node nodejs
need npm npm
need openssl openssl
need python3 python3
need dpkg-deb dpkg
postgres_bin >/dev/null

dist=${DIST:-$work/clone/dist}
if [ -z "${DIST:-}" ]; then
  [ -z "$(git status --porcelain)" ] || fail "the tree has changes: commit them first"
  step "Making the release"
  git clone -q "$root" "$work/clone"
  git -C "$work/clone" checkout -q "$(git rev-parse HEAD)"
  PLATFORMS=linux/$(go env GOARCH) make -C "$work/clone" release >"$work/release.log" 2>&1 ||
    { tail -n 20 "$work/release.log" >&2; fail "make release"; }
fi
if [ ! -x .tools/helm-v3.22.0 ]; then
  GOFLAGS='' GOBIN="$work" go install helm.sh/helm/v3/cmd/helm@v3.22.0
  mkdir -p .tools
  mv "$work/helm" .tools/helm-v3.22.0
fi
mkdir "$work/first"
(cd "$work/first" && npm install --silent --no-audit --no-fund --cache "$work/npm" "$(find "$dist" -name 'consign-client-*.tgz')")
rm -rf "$work/first"
cp test/dist/blocks.awk "$work"
ln -s "$root" "$work/repository"
GOCACHE=$(go env GOCACHE) GOMODCACHE=$(go env GOMODCACHE) \
  unshare --net --mount --pid --fork --kill-child bash test/dist/offline.sh "$root" "$dist" "$work"
