#!/usr/bin/env bash
# Tests that a release is reproducible and complete: makes it in two clones on two paths, at two times, with other settings of the
# machine and with separate build caches, and compares all files. Then checks the checksums, the signature and the SBOM.
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

# The signature and its throw-away key differ by design.
(cd "$a" && find . -type f ! -name '*.minisig' ! -name throwaway.pub | sort) >"$work/list.a"
(cd "$b" && find . -type f ! -name '*.minisig' ! -name throwaway.pub | sort) >"$work/list.b"
diff "$work/list.a" "$work/list.b" || fail "the releases have other files"
while read -r file; do
  cmp "$a/$file" "$b/$file" || fail "$file differs"
done <"$work/list.a"
echo "ok: $(wc -l <"$work/list.a") files are the same in both releases"

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
