// Tests the receipt verifier of the pages, internal/web/assets/proof.js, with a log of its own: each entry of logs of all sizes to 12, and
// files that are wrong in one way each. node test/proof.mjs MODULE TESTDATA; test/receipts.sh and make mutate run it.

import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { deflateSync } from "node:zlib";

const [, , module, testdata] = process.argv;
const { Refused, attached, hashFile, readKeys, verify } = await import(pathToFileURL(module).href);
const origin = "files.example.com";
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const hash = (...parts) => createHash("sha256").update(Buffer.concat(parts.map((p) => Buffer.from(p)))).digest();
const encoded = Buffer.concat([Buffer.from([1]), publicKey.export({ format: "der", type: "spki" }).subarray(-32)]);
const id = hash(`${origin}\n`, encoded).subarray(0, 4);
const keyLine = `${origin}+${id.toString("hex")}+${encoded.toString("base64")}`;
const keys = await readKeys(`${keyLine}\n`);

const statementOf = (n) => `consign-receipt/v1\nsubject number ${n}\nobject ${n} ${"ab".repeat(32)} a\\u000ab\\\\${n}.txt\n`;
const leafOf = (statement) => hash([0], hash(statement));
const split = (n) => 2 ** Math.floor(Math.log2(n - 1));
const root = (l) => (l.length === 1 ? l[0] : hash([1], root(l.slice(0, split(l.length))), root(l.slice(split(l.length)))));
function path(n, l) {
  if (l.length === 1) return [];
  const k = split(l.length);
  return n < k ? [...path(n, l.slice(0, k)), root(l.slice(k))] : [...path(n - k, l.slice(k)), root(l.slice(0, k))];
}

/** A receipt. change alters its parts before they are signed and joined. */
function receipt(n, size, change = {}) {
  const leaves = Array.from({ length: size }, (_, i) => leafOf(statementOf(i)));
  const p = { statement: statementOf(n), magic: "c2sp.org/tlog-proof@v1", extra: "", index: n, path: path(n, leaves), size,
    root: root(leaves), origin, id, more: "", ...change };
  const body = `${p.origin}\n${p.size}\n${p.root.toString("base64")}\n${p.body ?? ""}`;
  const signature = p.signature ?? sign(null, Buffer.from(body), privateKey);
  const line = `— ${p.origin} ${Buffer.concat([p.id, signature]).toString("base64")}\n`;
  return `${p.statement}\n${p.magic}\n${p.extra}index ${p.index}\n${p.path.map((h) => `${h.toString("base64")}\n`).join("")}\n` +
    `${body}\n${p.signatures ?? line + p.more}`;
}
const bytes = (text) => new Uint8Array(Buffer.from(text));
const refused = (what, text, why) => assert.rejects(verify(text instanceof Uint8Array ? text : bytes(text), keys),
  (e) => e instanceof Refused && e.message === why, `${what}: not refused with ${why}`);

for (let size = 1; size <= 12; size++) {
  for (let n = 0; n < size; n++) {
    assert.deepEqual(await verify(bytes(receipt(n, size)), keys), { log: origin, index: n, size, stamped: false, event: false,
      lines: [{ name: "subject", value: `number ${n}` }], objects: [{ name: `a\nb\\${n}.txt`, size: n, sha256: "ab".repeat(32) }] });
    const notIn = "the statement is not in the log";
    await refused("another statement", receipt(n, size, { statement: statementOf(n + 1) }), notIn);
    if (size > 1) await refused("a shorter path", receipt(n, size, { path: receiptPath(n, size).slice(1) }), notIn);
    await refused("a longer path", receipt(n, size, { path: [...receiptPath(n, size), hash("x")] }), "the path is too long");
  }
}
function rootOf(size) { return root(Array.from({ length: size }, (_, i) => leafOf(statementOf(i)))); }
function receiptPath(n, size) { return path(n, Array.from({ length: size }, (_, i) => leafOf(statementOf(i)))); }

const good = receipt(3, 7), witness = `— witness.example ${Buffer.alloc(76).toString("base64")}\n`;
assert.equal((await verify(bytes(receipt(3, 7, { extra: "extra AAAA\n" })), keys)).stamped, true);
assert.equal((await verify(bytes(receipt(3, 7, { more: witness })), keys)).index, 3);
for (const [what, text, why] of [
  ["an index outside", receipt(3, 7, { index: 7 }), "the index is outside of the log"],
  ["a leading zero", receipt(3, 7, { index: "03" }), "malformed number"],
  ["sixteen digits", receipt(3, 7, { index: "1".repeat(16) }), "malformed number"],
  ["another word than index", good.replace("index 3", "xindex 3"), "malformed number"],
  ["no index", good.replace("index 3\n", ""), "malformed number"],
  ["an index with a tail", good.replace("index 3\n", "index 3 4\n"), "malformed number"],
  ["another magic", receipt(3, 7, { magic: "c2sp.org/tlog-proof@v2" }), "it has no proof"],
  ["no proof", statementOf(3), "it has no proof"],
  ["no statement", `\n\n${good}`, "it has no proof"],
  ["a proof without a checkpoint", good.slice(0, good.indexOf("\n\n", good.indexOf("index"))), "it has no proof"],
  ["a malformed extra", receipt(3, 7, { extra: "extra AAA\n" }), "malformed base64"],
  ["base64 with a second spelling", receipt(3, 7, { extra: "extra AB==\n" }), "base64 with a second spelling"],
  ["base64 with a wrong end", receipt(3, 7, { extra: "extra AAAA!AAA\n" }), "malformed base64"],
  ["base64 with a wrong begin", receipt(3, 7, { extra: "extra !AAAAAAA\n" }), "malformed base64"],
  ["a root with a byte more", receipt(3, 7, { root: Buffer.from([...rootOf(7), 0]) }), "the statement is not in the log"],
  ["a path that ends early", receipt(0, 1, { size: 2 }), "the statement is not in the log"],
  ["an empty line and more in the checkpoint", receipt(3, 7, { body: "\nmore\n" }), "malformed checkpoint"],
  ["a line more in the checkpoint", receipt(3, 7, { body: "more\n" }), "malformed checkpoint"],
  ["no origin", receipt(3, 7, { origin: "" }), "malformed checkpoint"],
  ["no signature of the log", receipt(3, 7, { signatures: witness }), "no known key has signed"],
  ["another key's id", receipt(3, 7, { id: Buffer.from("abcd") }), "no known key has signed"],
  ["another origin", receipt(3, 7, { origin: "evil.example.com" }), "no known key has signed"],
  ["a wrong signature", receipt(3, 7, { signature: Buffer.alloc(64) }), "wrong signature"],
  ["a line of a signature without its end", good.slice(0, -1), "malformed signatures"],
  ["a signature without a dash", receipt(3, 7, { signatures: `- ${origin} AAAA\n` }), "malformed signature"],
  ["a signature with a word more", receipt(3, 7, { signatures: `— ${origin} AAAA x\n` }), "malformed signature"],
  ["a signature without bytes", receipt(3, 7, { signatures: `— ${origin}\n` }), "malformed signature"],
  ["no UTF-8", new Uint8Array([...bytes(good), 0xff]), "it is not UTF-8"],
  ["a byte order mark", `\ufeff${good}`, "the statement is not in the log"],
]) await refused(what, text, why);

// The key of another log that is known, too, signs for its own log only.
const others = generateKeyPairSync("ed25519");
const othersKey = Buffer.from([1, ...others.publicKey.export({ format: "der", type: "spki" }).subarray(-32)]);
const othersId = hash("other.example.com\n", othersKey).subarray(0, 4);
const both = await readKeys(`${keyLine}\nother.example.com+${othersId.toString("hex")}+${othersKey.toString("base64")}\n`);
assert.equal(both.length, 2);
const text = `${origin}\n7\n${rootOf(7).toString("base64")}\n`;
const foreign = `— other.example.com ${Buffer.concat([othersId, sign(null, Buffer.from(text), others.privateKey)]).toString("base64")}\n`;
await assert.rejects(verify(bytes(receipt(3, 7, { signatures: foreign })), both), { message: "no known key has signed" });

/** A statement of its own in a log of one entry. */
const alone = (statement) => receipt(0, 1, { statement, root: leafOf(statement) });
for (const [what, statement, why] of [
  ["a newer version", "consign-receipt/v2\na b\n", "it is of a newer version"],
  ["a line without a name", "consign-receipt/v1\n b\n", "malformed statement"],
  ["a line without a value", "consign-receipt/v1\nword\n", "malformed statement"],
  ["an object without a name", `consign-receipt/v1\nobject 1 ${"ab".repeat(32)}\n`, "malformed object"],
  ["an object with a short sum", `consign-receipt/v1\nobject 1 ${"ab".repeat(31)} a\n`, "malformed object"],
]) await refused(what, alone(statement), why);
assert.equal((await verify(bytes(alone("consign-event/v1\nevent opened\n")), keys)).event, true);

assert.equal(keys.length, 1);
const keyOf = (raw) => `${origin}+${hash(`${origin}\n`, raw).subarray(0, 4).toString("hex")}+${raw.toString("base64")}`;
for (const line of ["", "no key", keyLine.replace(/\+[0-9a-f]{8}/, "+00000000"), keyLine.replace(origin, "other.example.com"),
  keyOf(Buffer.from([4, ...encoded.subarray(1)])), keyOf(Buffer.from([...encoded, 0]))]) {
  assert.equal((await readKeys(`${line}\n${keyLine} signing\n`)).length, 1, `the key ${line}`);
}

const packed = deflateSync(Buffer.from(good));
const document = (content, head = "%PDF-1.7") => new Uint8Array(Buffer.concat([
  Buffer.from(`${head}\n/Type /EmbeddedFile /Length ${content.length} >>\nstream\n`), content, Buffer.from("\nendstream\n")]));
assert.equal(Buffer.from(await attached(document(packed))).toString(), good);
assert.equal(await attached(document(packed, "%PNG-1.7")), null);
assert.equal(await attached(document(deflateSync(Buffer.from("something else")))), null);
assert.equal(await attached(document(Buffer.from("not deflated"))), null);

const read = (name) => new Uint8Array(readFileSync(`${testdata}/${name}`));
const published = await readKeys(readFileSync(`${testdata}/keys`, "utf8"));
assert.equal((await verify(read("receipt.consign"), published)).event, false);
assert.equal((await verify(read("stamped.consign"), published)).stamped, true);
assert.equal((await verify(read("erased.consign"), published)).event, true);
const certificate = readFileSync(`${testdata}/certificate.consign`, "utf8");
assert.equal((await verify(bytes(certificate), published)).lines.find((l) => l.name === "reason").value, "expiry");
await assert.rejects(verify(bytes(certificate.replace("files 1\n", "files 2\n")), published));
const progress = [];
assert.equal(await hashFile(new Blob([good]), (n) => progress.push(n)), createHash("sha256").update(good).digest("hex"));
assert.equal(progress.at(-1), Buffer.byteLength(good));
console.log("proof.js accepts what is right and refuses what is wrong in one way");
