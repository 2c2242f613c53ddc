// Verifies receipts (docs/use/receipts.md) without the server. It shares no code with the server and needs no page: it also runs in node.

import { sha256 } from "./thirdparty/noble/sha2.js";

/** The receipt is refused; the message is for developers. */
export class Refused extends Error {}

/** @param {unknown} condition @param {string} why */
function check(condition, why) {
  if (!condition) throw new Refused(why);
}

const utf8 = new TextEncoder();
const digest = async (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
/** @param {Uint8Array} bytes */
const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
/** @param {Uint8Array} a @param {Uint8Array} b */
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);

/** @param {...(number[] | Uint8Array)} parts @returns {Uint8Array<ArrayBuffer>} */
const join = (...parts) => new Uint8Array(parts.flatMap((p) => [...p]));

/** Decodes base64 that has its one canonical spelling. @param {string} text @returns {Uint8Array<ArrayBuffer>} */
function decode(text) {
  check(/^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0, "malformed base64");
  const binary = atob(text);
  check(btoa(binary) === text, "base64 with a second spelling");
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

/** Reads a number without leading zeros. @param {string} text */
function decimal(text) {
  check(/^(0|[1-9][0-9]{0,14})$/.test(text), "malformed number");
  return Number(text);
}

/**
 * Reads the keys of logs: one a line, as /log/keys has them.
 * @param {string} text @returns {Promise<{name: string, id: string, key: CryptoKey}[]>}
 */
export async function readKeys(text) {
  const keys = [];
  for (const line of text.split("\n").filter(Boolean)) {
    const [, name, id, encoded] = /^([^+ ]+)\+([0-9a-f]{8})\+(\S+)/.exec(line) ?? [];
    if (!name) continue;
    const raw = decode(encoded);
    if (raw[0] !== 1 || raw.length !== 33) continue;
    const hash = await digest(join(utf8.encode(`${name}\n`), raw));
    if (hex(hash.subarray(0, 4)) !== id) continue;
    keys.push({ name, id, key: await crypto.subtle.importKey("raw", raw.slice(1), "Ed25519", false, ["verify"]) });
  }
  return keys;
}

/** Verifies the signatures of a checkpoint. @param {string} text @param {{name: string, id: string, key: CryptoKey}[]} keys */
async function checkpoint(text, keys) {
  const end = text.lastIndexOf("\n\n");
  check(end > 0, "the checkpoint has no signatures");
  const body = text.slice(0, end + 1), signatures = text.slice(end + 2);
  const [origin, size, root, rest, ...more] = body.split("\n");
  check(origin && rest === "" && more.length === 0, "malformed checkpoint");
  check(signatures.endsWith("\n"), "malformed signatures");
  let signed = false;
  for (const line of signatures.slice(0, -1).split("\n")) {
    const [dash, name, encoded, ...others] = line.split(" ");
    check(dash === "—" && name && encoded && others.length === 0, "malformed signature");
    const raw = decode(encoded);
    const known = keys.find((k) => k.name === name && k.id === hex(raw.subarray(0, 4)));
    if (!known || name !== origin) continue; // of another key, such as a witness
    check(await crypto.subtle.verify("Ed25519", known.key, raw.slice(4), utf8.encode(body)), "wrong signature");
    signed = true;
  }
  check(signed, "no known key has signed");
  return { origin, size: decimal(size), root: decode(root) };
}

/**
 * Checks a Merkle path (RFC 9162, 2.1.3.2).
 * @param {Uint8Array} leaf @param {number} index @param {number} size @param {Uint8Array[]} path @param {Uint8Array} root
 */
async function included(leaf, index, size, path, root) {
  check(index < size, "the index is outside of the log");
  let fn = BigInt(index), sn = BigInt(size) - 1n, r = leaf;
  for (const p of path) {
    check(sn > 0n, "the path is too long");
    if (fn & 1n || fn === sn) {
      r = await digest(join([1], p, r));
      while (fn && !(fn & 1n)) { fn >>= 1n; sn >>= 1n; }
    } else {
      r = await digest(join([1], r, p));
    }
    fn >>= 1n;
    sn >>= 1n;
  }
  check(sn === 0n && same(r, root), "the statement is not in the log");
}

/** @param {string} text */
const bytesOf = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));

/**
 * Returns the receipt in the PDF document of a receipt, or null. The document need not be trusted: the receipt in it is verified.
 * @param {Uint8Array} file @returns {Promise<Uint8Array<ArrayBuffer> | null>}
 */
export async function attached(file) {
  const text = new TextDecoder("latin1").decode(file);
  if (!text.startsWith("%PDF-")) return null;
  for (const { index, 0: found, 1: length } of text.matchAll(/\/Type \/EmbeddedFile \/Length (\d{1,9}) [^\n]*\n+stream\n/g)) {
    const packed = file.slice(index + found.length, index + found.length + Number(length));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const content = await new Response(unpacked).arrayBuffer().then((all) => new Uint8Array(all), () => null);
    if (content && same(content.subarray(0, 8), bytesOf("consign-"))) return content;
  }
  return null;
}

/** @param {string} value */
const unescape = (value) => value.replace(/\\(?:\\|u([0-9a-f]{4}))/g, (_, code) => (code ? String.fromCharCode(parseInt(code, 16)) : "\\"));

/**
 * What a receipt says.
 * @typedef {{log: string, index: number, size: number, stamped: boolean, event: boolean, lines: {name: string, value: string}[],
 *   objects: {name: string, size: number, sha256: string}[]}} Statement
 */

/**
 * Verifies a receipt. It throws Refused unless a known key has signed that the log holds exactly this statement.
 * @param {Uint8Array} file @param {{name: string, id: string, key: CryptoKey}[]} keys @returns {Promise<Statement>}
 */
export async function verify(file, keys) {
  let text = "";
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(file);
  } catch {
    throw new Refused("it is not UTF-8");
  }
  const cut = text.indexOf("\n\n"), statement = text.slice(0, cut + 1), proof = text.slice(cut + 2);
  check(cut > 0, "it has no proof");
  const middle = proof.indexOf("\n\n");
  const [magic, ...lines] = proof.slice(0, middle).split("\n");
  check(middle > 0 && magic === "c2sp.org/tlog-proof@v1", "it has no proof");
  const stamped = Boolean(lines[0]?.startsWith("extra "));
  if (stamped) decode(/** @type {string} */ (lines.shift()).slice(6));
  const [, number] = /^index (\S+)$/.exec(lines.shift() ?? "") ?? [];
  const index = decimal(number ?? "");
  const signed = await checkpoint(proof.slice(middle + 2), keys);
  const entry = await digest(utf8.encode(statement));
  await included(await digest(join([0], entry)), index, signed.size, lines.map(decode), signed.root);
  return { log: signed.origin, index, size: signed.size, stamped, ...read(statement) };
}

/** Reads a statement. @param {string} statement */
function read(statement) {
  const [format, ...rest] = statement.slice(0, -1).split("\n");
  check(format === "consign-receipt/v1" || format === "consign-event/v1", "it is of a newer version");
  /** @type {{name: string, value: string}[]} */
  const lines = [];
  /** @type {{name: string, size: number, sha256: string}[]} */
  const objects = [];
  for (const line of rest) {
    const at = line.indexOf(" "), name = line.slice(0, at), value = line.slice(at + 1);
    check(at > 0, "malformed statement");
    const [, size, sum, file] = name === "object" ? /^([0-9]+) ([0-9a-f]{64}) (.*)$/.exec(value) ?? [] : [];
    check(name !== "object" || sum, "malformed object");
    if (sum) objects.push({ name: unescape(file), size: Number(size), sha256: sum });
    else lines.push({ name, value: unescape(value) });
  }
  return { event: format === "consign-event/v1", lines, objects };
}

/**
 * Returns the SHA-256 of a file as hex. WebCrypto cannot hash a stream, and the file may be larger than memory. The page's policy allows no
 * worker (trusted types); each chunk takes milliseconds, and the page can work between them.
 * @param {Blob} file @param {(done: number) => void} [progress] @returns {Promise<string>}
 */
export async function hashFile(file, progress) {
  const h = sha256.create();
  let done = 0;
  const reader = file.stream().getReader();
  for (;;) {
    const { value, done: end } = await reader.read();
    if (end) return hex(h.digest());
    h.update(value);
    progress?.(done += value.length);
  }
}
