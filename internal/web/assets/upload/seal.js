// Seals the record of an upload of a person without an account with the typed email address: the next person at the device cannot read it.

import { usable } from "../address.js";

const rounds = 200_000; // of PBKDF2
const utf8 = new TextEncoder();

/** @typedef {{salt: BufferSource, iv: BufferSource, box: ArrayBuffer}} Sealed */

/** @param {string} address @param {BufferSource} salt */
async function keyOf(address, salt) {
  const raw = await crypto.subtle.importKey("raw", utf8.encode(address.trim().toLowerCase()), "PBKDF2", false, ["deriveKey"]);
  return crypto.subtle.deriveKey({ name: "PBKDF2", hash: "SHA-256", salt, iterations: rounds }, raw,
    { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

/** The latest key: records are sealed after each change. */
let latest = { address: "", salt: new Uint8Array(16), key: Promise.resolve(/** @type {any} */ (null)) };

/**
 * Returns the sealed value; undefined without an address, or where the browser has no cryptography.
 * @param {string} address @param {unknown} value
 */
export async function seal(address, value) {
  if (!usable(address) || !crypto.subtle) return undefined;
  if (latest.address !== address) {
    const salt = crypto.getRandomValues(new Uint8Array(16));
    latest = { address, salt, key: keyOf(address, salt) };
  }
  const { salt, key } = latest, iv = crypto.getRandomValues(new Uint8Array(12));
  const box = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, await key, utf8.encode(JSON.stringify(value)));
  return { salt, iv, box };
}

/** Returns a value, or null when another address has sealed it. @param {Sealed} sealed @param {string} address @returns {Promise<any>} */
export async function open({ salt, iv, box }, address) {
  try {
    const text = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, await keyOf(address, salt), box);
    return JSON.parse(new TextDecoder().decode(text));
  } catch {
    return null;
  }
}
