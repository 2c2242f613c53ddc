#!/usr/bin/env bash
# A thousand receipts of random content are verified by two programs that share no code with the server: test/receipt.py with openssl, and the
# verifier of the page /verify in node, which test/proof.mjs also asks about files that are wrong in one way. Then 10,000 random
# bits are changed, one at a time, and node must refuse each.
. "$(dirname "$0")/lib.sh"
cd "$root"
need python3 python3
need openssl openssl
need node nodejs
mkdir "$work/receipts"
RECEIPTS_DIR="$work/receipts" go test ./internal/transfer -run TestRandomReceipts -count=1 >/dev/null || fail "no receipts were made"
python3 test/receipt.py "$work/keys" "$work/receipts"
python3 test/receipt.py internal/transfer/testdata/receipt/keys internal/transfer/testdata/receipt/receipt.consign internal/transfer/testdata/receipt/hello.txt
! python3 test/receipt.py internal/transfer/testdata/receipt/keys internal/transfer/testdata/receipt/receipt.consign "$0" 2>/dev/null || fail "a file that is not in the receipt was accepted"

node --no-warnings --experimental-default-type=module test/proof.mjs internal/web/assets/proof.js internal/transfer/testdata/receipt
node --no-warnings --experimental-default-type=module --input-type=module - "$root/internal/web/assets/proof.js" "$work" <<'JS'
import fs from "node:fs";
const [, , module, work] = process.argv;
const { Refused, readKeys, verify } = await import(module);
const keys = await readKeys(fs.readFileSync(`${work}/keys`, "utf8"));
const files = fs.readdirSync(`${work}/receipts`).map((n) => fs.readFileSync(`${work}/receipts/${n}`));
for (const f of files) {
  const said = await verify(f, keys);
  if (said.objects.length === 0) throw new Error("a receipt without objects");
}
for (let n = 0; n < 10_000; n++) {
  const f = Buffer.from(files[n % files.length]), at = f.indexOf("\n\u2014 witness.example/w1 "); // its signature is of an unknown key
  const bit = Math.floor(Math.random() * 8 * (at < 0 ? f.length : at));
  f[bit >> 3] ^= 1 << (bit & 7);
  let accepted = true;
  try {
    await verify(f, keys);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    accepted = false;
  }
  if (accepted) throw new Error(`bit ${bit} of receipt ${n} was changed, and it was accepted:\n${f}`);
}
console.log(`${files.length} accepted by proof.js, 10000 changed ones refused`);
JS
echo ok
