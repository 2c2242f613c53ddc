#!/usr/bin/env bash
# Lets witnesses of others cosign the transparency log, unmodified: transparency-dev's omniwitness and torchwood's litewitness. CHECKPOINTS
# (1000) are cosigned across kills, then a verifier over torchwood and sumdb/note reads as many receipts and all tiles. A restored database
# and a split view are refused by both. Everything runs in a network namespace that has only loopback: omniwitness names public logs.
. "$(dirname "$0")/lib.sh"
cd "$root"
[ "$(id -u)" = 0 ] || fail "a network namespace needs root: run this as root"
need ip iproute2
need sqlite3 sqlite3
need ssh-agent openssh-client
witness=v0.0.0-20260720115447-2e1c6971d19e torchwood=v0.9.0 tools="$root/.tools/witness-$torchwood"
if [ ! -x "$tools/litewitness" ]; then
  echo "building the witnesses once (about two minutes)" >&2
  for program in "github.com/transparency-dev/witness/cmd/omniwitness@$witness" \
    "github.com/transparency-dev/witness/cmd/generate_keys@$witness" \
    "filippo.io/torchwood/cmd/litewitness@$torchwood"; do
    GOBIN="$tools" GOFLAGS='' go install "$program"
  done
fi
(cd test/witness/verify && go build -o "$work/verify" .)
go test -tags campaign -c -o "$work/campaign.test" ./test/campaign
make -s build
cd test/campaign
TEST_OMNIWITNESS="$tools/omniwitness" TEST_GENERATE_KEYS="$tools/generate_keys" TEST_LITEWITNESS="$tools/litewitness" \
  TEST_FOREIGN_VERIFIER="$work/verify" \
  unshare -n bash -c 'ip link set lo up && exec "$@"' - "$work/campaign.test" -test.v -test.timeout 3h -test.run '^TestWitnesses$'
works omniwitness "${witness##*-}" "cosigns the log of receipts, refuses a restored and a split one"
works litewitness "${torchwood#v}" "cosigns the log of receipts, refuses a restored and a split one"
works "torchwood and sumdb/note" "${torchwood#v}" "verify receipts and all tiles of the log"
