#!/usr/bin/env bash
# Tests that a release is reproducible and complete: makes it in two clones on two paths, at two times, with other settings of the
# machine and with separate build caches, and compares all files. Then checks the checksums, the signature, the SBOM and the log: files of the
# release and the pages of its server are verified, others are refused. A third clone publishes a key and releases twice with it.
# PLATFORMS limits the platforms, as in scripts/release/release.sh.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ -z "$(git status --porcelain)" ] || fail "the tree has changes: commit them first"
need buildah buildah
need python3 python3

head=$(git rev-parse HEAD)
release() { # release CLONE [NAME=VALUE…]: makes a release of $head in a clone
  local clone=$1
  shift
  git clone -q "$root" "$clone"
  (cd "$clone" && git checkout -q "$head" && env "$@" make release >"$clone.log" 2>&1) ||
    { tail -n 20 "$clone.log" >&2; fail "make release in $clone"; }
}

release "$work/a"
sleep 2 # another second, for every time stamp that is not the commit's
mkdir -p "$work/home" "$work/another/and much longer path"
release "$work/another/and much longer path/b" HOME="$work/home" GOCACHE="$work/cache" GOMODCACHE="$(go env GOMODCACHE)" TZ=Asia/Tokyo LANG=de_DE.UTF-8
a=$work/a/dist b="$work/another/and much longer path/b/dist"

# The signatures and their throw-away key differ by design.
unsigned() { (cd "$1" && find . -path ./log -prune -o -type f ! -name '*.minisig' ! -name 'throwaway.*' ! -name '*.release' ! -name '*.pages' -print | sort); }
unsigned "$a" >"$work/list.a"
unsigned "$b" >"$work/list.b"
diff "$work/list.a" "$work/list.b" || fail "the releases have other files"
while read -r file; do
  cmp "$a/$file" "$b/$file" || fail "$file differs"
done <"$work/list.a"
for statement in 0 1; do cmp "$a/log/statement/$statement" "$b/log/statement/$statement" || fail "statement $statement of the log differs"; done
echo "ok: $(wc -l <"$work/list.a") files and the statements of the log are the same in both releases"

minisign() { GOFLAGS='' go tool -modfile=scripts/release/tools.mod minisign "$@"; }
(cd "$a" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS does not fit the files"
minisign -V -q -p "$a/throwaway.pub" -m "$a/SHA256SUMS" || fail "the signature is refused"
cp "$a/SHA256SUMS.minisig" "$work/altered.minisig"
sed '1s/^./x/' "$a/SHA256SUMS" >"$work/altered"
if minisign -V -q -p "$a/throwaway.pub" -m "$work/altered" 2>/dev/null; then fail "the signature of altered checksums is accepted"; fi
echo "ok: checksums and signature"

python3 - "$a" <<'PY'
import glob, json, sys
bom = json.load(open(glob.glob(sys.argv[1] + "/*.cdx.json")[0]))
assert bom["bomFormat"] == "CycloneDX" and bom["specVersion"] == "1.6", bom["specVersion"]
names = {c["name"] for c in bom["components"]}
for name in ["github.com/jackc/pgx/v5", "htm", "Figtree", "DejaVu Sans"]:
    assert name in names, name + " is missing in the SBOM"
bare = [c["name"] for c in bom["components"] if not c.get("licenses") and c["name"] != "std"]
assert not bare, f"without licence: {bare}"
print(f"ok: SBOM with {len(names)} components, each with a licence")
PY

version=$("$(find "$a" -name 'consign-[0-9]*-linux-amd64')" version)
grep -q "^## ${version#consign }\|^## $(sed 's/^consign //; s/-dev.*//' <<<"$version")" "$a/RELEASE_NOTES.md" || fail "the release notes are not those of $version"
echo "ok: $version"

key="$a/throwaway.logkey" client=$(find "$a" -name 'consign-client-*-linux-amd64')
while read -r _ file; do "$client" verify --key "$key" --release "$a/$file" >/dev/null || fail "$file is refused"; done <"$a/SHA256SUMS"
cp "$a/RELEASE_NOTES.md" "$a"/consign-*.release "$work"
echo >>"$work/RELEASE_NOTES.md"
if "$client" verify --key "$key" --release "$work/RELEASE_NOTES.md" >"$work/said"; then fail "a changed file is accepted"; fi
grep -q '^CHANGED ' "$work/said" || fail "a changed file: $(cat "$work/said")"
mkdir -p "$work/served/bin"
cp "$(find "$a" -name 'consign-[0-9]*-linux-amd64')" "$work/served/bin/consign"
port=$(free_port)
root="$work/served" start_server "$work/var" "$port" "$(free_port)" --demo
site() { "$client" verify --key "$1" --proof "$(find "$2" -name '*.pages')" --site "http://localhost:$port"; }
site "$key" "$a" || fail "the pages of the release are refused"
if site "$b/throwaway.logkey" "$a"; then fail "a manifest that another key has signed is accepted"; fi
stop_server
echo "ok: files and pages of the release are in the log, others are refused"

# A key of its own, as a maintainer publishes it.
git clone -q "$root" "$work/c"
cd "$work/c"
git checkout -q "$head"
git config user.name Test
git config user.email test@example.com
for name in own other; do minisign -G -W -p "$work/$name.pub" -s "$work/$name.key" >/dev/null; done
commit() { git add -A && git commit -q -m "$1"; }
# An unreleased version has another number in each commit.
dated() { sed -i "0,/^## /s/^## .*/## $1 (2030-01-01)\n\n&/" CHANGELOG.md; }
make_release() { PLATFORMS=darwin/arm64 RELEASE_KEY="$work/$1.key" make release >"$work/c.log" 2>&1; }
if RELEASE_KEY="$PWD/secret.key" make release-key >/dev/null 2>&1 || [ -e secret.key ]; then fail "a secret key is made in the repository"; fi
RELEASE_KEY="$work/own.key" make release-key >"$work/c.log" 2>&1 || fail "make release-key: $(tail -n 5 "$work/c.log")"
go test -count=1 -run '^TestReleaseKeyIsPublished$' ./internal/app >/dev/null || fail "documents do not have the release key"
dated 1.99.8
find changes -type f ! -name README.md -delete # make changelog does this
commit "Publish a key"
if make_release other; then fail "a key that is not the published one signs"; fi
make_release own || fail "make release: $(tail -n 5 "$work/c.log")"
cmp dist/release.pub scripts/release/release.pub || fail "the release has another key"
[ "$(sed -n 2p dist/release.pub)" = "$(sed -n 2p "$work/own.pub")" ] || fail "the published key is not that of minisign"
minisign -V -q -p dist/release.pub -m dist/SHA256SUMS || fail "the signature is refused"
cp -R dist/log scripts/release/log
commit "Keep the log"
if make_release own; then fail "a version is released twice"; fi
grep -q 'a version is released once' "$work/c.log" || fail "the second release ended by $(tail -n 5 "$work/c.log")"
dated 1.99.9
commit "Release 1.99.9"
make_release own || fail "the next release: $(tail -n 5 "$work/c.log")"
[ "$(sed -n 2p dist/log/checkpoint)" = 4 ] || fail "the log has not four entries after two releases"
"$client" verify --key dist/release.logkey --release dist/consign-1.99.9-darwin-arm64 || fail "a file of the next release is refused"
echo "ok: a published key, and a log that grows from release to release"
