// Downloads. Those of files are by navigation, so that the browser writes any size straight to disk. A one-time key authorizes each.
// Previews are read with a token.

import { Failure, accessToken, call, own, transfer } from "./api.js";

/** Makes the browser download a URL. @param {string} url */
function open(url) {
  const link = Object.assign(document.createElement("a"), { href: url, download: "", rel: "noopener" });
  document.body.append(link);
  link.click();
  link.remove();
}

/** The path and query of one file, of an archive of some files, or of all. @param {string[]} uids @param {string} key a one-time key */
function place(uids, key) {
  const pass = `otk=${encodeURIComponent(key)}`;
  if (uids.length === 1) return `objects/${uids[0]}/content?${pass}`;
  return `archive?${uids.length ? `objects=${uids.join(",")}&` : ""}${pass}`;
}

/** The object that a one-time key is for; none for an archive. @param {string[]} uids */
const one = (uids) => (uids.length === 1 ? { objectUid: uids[0] } : {});

/** Downloads from a transfer of the signed-in person. @param {string} uid @param {...string} objectUids without: all files as an archive */
export async function downloadOwn(uid, ...objectUids) {
  const { body } = await own("POST", `${transfer}/auth/otk`, { json: { transferUid: uid, ...one(objectUids) } });
  open(`${transfer}/transfers/${uid}/${place(objectUids, body.key)}`);
}

/** Downloads a held file of a transfer that the signed-in person owns. @param {string} uid @param {string} objectUid */
export async function downloadAnyway(uid, objectUid) {
  const { body } = await own("POST", `${transfer}/auth/otk`, { json: { transferUid: uid, ...one([objectUid]) } });
  open(`${transfer}/transfers/${uid}/${place([objectUid], body.key)}&anyway=true`);
}

/** Downloads the archive of a request of the signed-in person. @param {string} uid */
export async function downloadRequest(uid) {
  const at = /** @type {const} */ (`${transfer}/requests/${uid}`);
  const { body } = await own("POST", `${at}/otk`);
  open(`${at}/archive?otk=${encodeURIComponent(body.key)}`);
}

/** The public path of a transfer. @param {string} key of the link */
const linked = (key) => /** @type {const} */ (`${transfer}/public/transfers/${encodeURIComponent(key)}`);

/**
 * Downloads from a transfer by its link.
 * @param {string} key of the link @param {string} token download token @param {...string} objectUids without: all files as an archive
 */
export async function downloadPublic(key, token, ...objectUids) {
  const { body } = await call("POST", `${linked(key)}/otk`, { token, json: one(objectUids) });
  open(`${linked(key)}/${place(objectUids, body.key)}`);
}

/**
 * Reads a file for a preview.
 * @param {string} at of the transfer @param {string} token @param {string} uid
 * @param {{signal: AbortSignal, first?: number}} options
 */
async function read(at, token, uid, { signal, first }) {
  const url = `${at}/objects/${uid}/content?preview=true`;
  const headers = { Accept: "*/*", Authorization: `Bearer ${token}`, ...(first ? { Range: `bytes=0-${first - 1}` } : {}) };
  const response = await fetch(url, { headers, signal, credentials: "same-origin" });
  if (!response.ok) throw new Failure(url, response.status);
  return response;
}

/**
 * Reads the small picture of a file. A new transfer may not have it yet.
 * @param {string} at of the transfer @param {() => Promise<string>} token @param {string} uid @param {AbortSignal} signal
 */
async function readThumbnail(at, token, uid, signal) {
  const url = `${at}/objects/${uid}/thumbnail`;
  for (let tries = 3; ; tries--) {
    const response = await fetch(url, { headers: { Accept: "image/jpeg", Authorization: `Bearer ${await token()}` }, signal });
    if (response.ok) return response;
    if (response.status !== 404 || tries === 1) throw new Failure(url, response.status);
    await new Promise((done) => { setTimeout(done, 2000); });
  }
}

/** Reads files of a transfer of the signed-in person. @param {string} uid @returns {import("./previews.js").Read} */
export const readOwn = (uid) => async (objectUid, options) => (options.small
  ? readThumbnail(`${transfer}/transfers/${uid}`, accessToken, objectUid, options.signal)
  : read(`${transfer}/transfers/${uid}`, await accessToken(), objectUid, options));

/** Reads files of a transfer by its link. @param {string} key @param {string} token @returns {import("./previews.js").Read} */
export const readPublic = (key, token) => (objectUid, options) => (options.small
  ? readThumbnail(linked(key), async () => token, objectUid, options.signal) : read(linked(key), token, objectUid, options));

/** Saves the body of an answer as a file. @param {Response} response @param {string} name */
export async function saveBody(response, name) {
  const url = URL.createObjectURL(await response.blob());
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
