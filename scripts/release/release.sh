#!/usr/bin/env bash
# Makes a release in dist/: static binaries, .deb and .rpm packages, OCI image archives, the Helm chart, the npm package of the client, the
# Go module as a directory for GOPROXY, the documents site, the logo, an SBOM, signed checksums, and the log of the release key, grown by
# the checksums and by a manifest of the pages. The same commit gives the same bytes on any path and date. Settings:
#   RELEASE_KEY   file with the minisign secret key (make release-key); without it, a key of this run only signs (dist/throwaway.pub)
#   PLATFORMS     default: linux/amd64 linux/arm64 darwin/arm64
#   PARTS         packages: binaries, .deb and .rpm only, without signature, for tests
# Needs a committed tree, buildah for the images, npm, and rsvg-convert for the logo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fail() { printf 'make release: %s\n' "$*" >&2; exit 1; }
tool() { GOFLAGS='' go tool -modfile=scripts/release/tools.mod "$@"; }

[ -z "$(git status --porcelain)" ] || fail "the tree has changes: commit them first"
PARTS=${PARTS:-all}
if [ "$PARTS" = all ]; then
  command -v buildah >/dev/null || fail "buildah is missing: install it (apt-get install buildah)"
  command -v npm >/dev/null || fail "npm is missing: install it (apt-get install npm)"
fi
PLATFORMS=${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64}
export CGO_ENABLED=0 GOFLAGS='' LC_ALL=C TZ=UTC
umask 022

# The first heading of CHANGELOG.md is "## VERSION (unreleased)" or "## VERSION (DATE)".
heading=$(grep -m1 '^## ' CHANGELOG.md)
VERSION=$(cut -d' ' -f2 <<<"$heading")
case $heading in
  *unreleased*) VERSION="$VERSION-dev.$(git rev-list --count HEAD)" ;;
  *) [ "$(ls changes)" = README.md ] || { echo "changes/ has files that are not in CHANGELOG.md: run make changelog" >&2; exit 1; } ;;
esac
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
MTIME=$(git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
export SOURCE_DATE_EPOCH

rm -rf dist
mkdir dist
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# The key that signs, without its password.
if [ -n "${RELEASE_KEY:-}" ]; then
  name=release comment="consign $VERSION"
  (umask 077 && cp "$RELEASE_KEY" "$stage/key")
  tool minisign -C -W -s "$stage/key" >&2 # asks for the password of this copy
else
  name=throwaway comment="consign $VERSION, throw-away key"
  echo "RELEASE_KEY is not set: a key of this run only signs the release (dist/throwaway.pub)" >&2
  tool minisign -G -W -p "$stage/new.pub" -s "$stage/key" >/dev/null
fi
go run ./scripts/release/sign -key "$stage/key" -public "$stage/$name"
for public in release.pub release.logkey; do
  [ $name = throwaway ] || cmp -s "$stage/$public" scripts/release/$public ||
    fail "RELEASE_KEY is not the key that SECURITY.md names: see make release-key"
done

build() { # build OS ARCH COMMAND OUTPUT
  GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" -o "$4" "./cmd/$3"
}

# packages makes a .deb and an .rpm of a command. Their sources are gathered in a directory.
packages() { # packages ARCH COMMAND
  local contents=$stage/$1/$2 packager shell
  mkdir -p "$contents/man"
  cp LICENSE NOTICE CHANGELOG.md deploy/package/{consign-admin,consign.service,copyright,sysusers.conf,tmpfiles.conf} "$contents"
  go run ./scripts/release/man "$contents/man"
  gzip -9n "$contents"/man/*
  cp "dist/$2-$VERSION-linux-$1" "$contents/$2"
  go run ./cmd/consign config --template >"$contents/consign.env"
  manual | gzip -9n >"$contents/consign.8.gz"
  for shell in bash zsh fish; do go run "./cmd/$2" completion $shell >"$contents/completion.$shell"; done
  printf '%s (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- The Consign authors <consign@consign.dev>  %s\n' \
    "$2" "${VERSION/-/\~}" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$contents/changelog.gz"
  find "$contents" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
  sed -e "s|@STAGE@|$contents|; s|@ARCH@|$1|; s|@VERSION@|$VERSION|; s|@MTIME@|$MTIME|" "deploy/package/$2.yaml" >"$stage/nfpm.yaml"
  for packager in deb rpm; do
    tool nfpm package --config "$stage/nfpm.yaml" --packager $packager --target dist/ >"$stage/nfpm.log" ||
      { cat "$stage/nfpm.log" >&2; fail "the .$packager of $2 was not made"; }
  done
}

manual() { # the manual page of the server
  printf '.TH CONSIGN 8 "%s" "consign %s" "Consign"\n.SH NAME\nconsign, consign-admin \\- file hand-over service\n' "${MTIME%T*}" "$VERSION"
  printf '.SH SYNOPSIS\n.B consign\n.I COMMAND\n.br\n.B consign-admin\n.I COMMAND\n.SH DESCRIPTION\n'
  printf 'consign-admin runs a command as the user of the service and with the settings of /etc/consign/consign.env.\n.nf\n'
  go run ./cmd/consign help | sed 's/\\/\\\\/g; s/-/\\-/g; s/^\./\\\&./'
  printf '.fi\n.SH FILES\n.I /etc/consign/consign.env\n.br\n.I /var/lib/consign\n'
}

# archive makes a reproducible tar of a directory below $stage.
archive() { # archive DIR FILE [tar arguments]
  local dir=$1 file=$2
  shift 2
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$stage/$dir" "$@" -cf - . |
    if [[ $file == *.tgz ]]; then gzip -9n; else cat; fi >"dist/$file"
}

# image makes an archive of the image that Dockerfile describes. The stage "build" of Dockerfile is replaced by a directory with
# the binary of this release, so that the image has the same binary as the packages.
image() { # image ARCH
  local root=$stage/$1/root
  mkdir -p "$root"/{etc/ssl/certs,usr/local/go/lib/time,data}
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  cp "$(go env GOROOT)/lib/time/zoneinfo.zip" "$root/usr/local/go/lib/time/"
  cp "dist/consign-$VERSION-linux-$1" "$root/consign"
  local engine=(buildah --storage-driver vfs --root "$stage/containers" --runroot "$stage/run")
  "${engine[@]}" build --isolation chroot --format docker --build-context "build=$root" --platform "linux/$1" --timestamp "$SOURCE_DATE_EPOCH" \
    --tag "consign:$VERSION" --file Dockerfile . >"$stage/image.log" 2>&1 || { cat "$stage/image.log" >&2; fail "the image was not built"; }
  "${engine[@]}" push --format oci "consign:$VERSION" "oci:$stage/$1/image:consign:$VERSION" >"$stage/image.log" 2>&1 ||
    { cat "$stage/image.log" >&2; fail "the image was not written"; }
  # An archive that buildah writes has the time of its making.
  archive "$1/image" "consign-$VERSION-linux-$1.oci.tar"
}

for platform in $PLATFORMS; do
  os=${platform%/*} arch=${platform#*/}
  echo "building $platform"
  for command in consign consign-client; do
    build "$os" "$arch" $command "dist/$command-$VERSION-$os-$arch"
    if [ "$os" = linux ]; then packages "$arch" $command; fi
  done
  if [ "$os" = linux ] && [ "$PARTS" = all ]; then image "$arch"; fi
done
[ "$PARTS" = all ] || exit 0

echo "packing the Helm chart, the client for TypeScript and the Go module"
mkdir -p "$stage/chart" "$stage/npm/clients" "$stage/proxy"
cp -R deploy/kubernetes "$stage/chart/consign"
sed -i -E "s/^((app)?[vV]ersion): .*/\1: $VERSION/" "$stage/chart/consign/Chart.yaml"
archive chart "consign-chart-$VERSION.tgz" --transform 's,^\./,,'

git archive HEAD api clients/typescript LICENSE | tar -xC "$stage/npm"
cp LICENSE "$stage/npm/clients/typescript"
(
  cd "$stage/npm/clients/typescript"
  { npm pkg set "version=$VERSION" && npm ci --no-audit --no-fund && npm run build &&
    npm pack --pack-destination "$stage/npm"; } >"$stage/npm.log" 2>&1
) || { tail -n 20 "$stage/npm.log" >&2; fail "the npm package was not made"; }
cp "$stage/npm/consign-client-$VERSION.tgz" dist

go run ./scripts/release/proxy -version "v$VERSION" -time "$MTIME" "$stage/proxy"
archive proxy "consign-$VERSION.goproxy.tar"

scripts/site/build.sh "$stage/documents"
archive documents/site "consign-$VERSION-site.tgz"
archive documents/logo "consign-$VERSION-logo.tgz"

sbom_of=$(find dist -name "consign-$VERSION-*" ! -name '*.tar' ! -name '*.tgz' | sort | tail -1)
tool cyclonedx-gomod bin -json -noserial -notimestamp -std -output-version 1.6 -version "$VERSION" "$sbom_of" 2>"$stage/sbom.log" |
  go run ./scripts/release/sbom >"dist/consign-$VERSION.cdx.json" || { cat "$stage/sbom.log" >&2; fail "the SBOM was not made"; }
# The release notes are the text below the first heading of CHANGELOG.md.
awk '/^## /{n++} n==1' CHANGELOG.md >"dist/RELEASE_NOTES.md"

(cd dist && sha256sum -- * >SHA256SUMS)
tool minisign -S -W -s "$stage/key" -m dist/SHA256SUMS -t "$comment" >/dev/null
cp "$stage/$name.pub" "$stage/$name.logkey" dist
if [ $name = release ] && [ -d scripts/release/log ]; then cp -R scripts/release/log dist/log; fi
go run ./scripts/release/sign -key "$stage/key" -log dist/log -dist dist -version "$VERSION"
ls -l dist
if [ $name = release ]; then echo "when the release is out: rm -rf scripts/release/log && cp -R dist/log scripts/release/log, and commit it"; fi
