// Downloads. Those of files are by navigation, so that the browser writes any size straight to disk. A one-time key authorizes each.

import { call, own, transfer } from "./api.js";

/** Makes the browser download a URL. @param {string} url */
function open(url) {
  const link = Object.assign(document.createElement("a"), { href: url, download: "", rel: "noopener" });
  document.body.append(link);
  link.click();
  link.remove();
}

/** Downloads from a transfer of the signed-in person. @param {string} uid @param {string} [objectUid] without: all files as an archive */
export async function downloadOwn(uid, objectUid) {
  const { body } = await own("POST", `${transfer}/auth/otk`, { json: { transferUid: uid, ...(objectUid ? { objectUid } : {}) } });
  open(`${transfer}/transfers/${uid}/${objectUid ? `objects/${objectUid}/content` : "archive"}?otk=${encodeURIComponent(body.key)}`);
}

/**
 * Downloads from a transfer by its link.
 * @param {string} key of the link @param {string} token download token @param {string} [objectUid] without: all files as an archive
 */
export async function downloadPublic(key, token, objectUid) {
  const at = `${transfer}/public/transfers/${encodeURIComponent(key)}`;
  const { body } = await call("POST", `${at}/otk`, { token, json: objectUid ? { objectUid } : {} });
  open(`${at}/${objectUid ? `objects/${objectUid}/content` : "archive"}?otk=${encodeURIComponent(body.key)}`);
}

/** Saves the body of an answer as a file. @param {Response} response @param {string} name */
export async function saveBody(response, name) {
  const url = URL.createObjectURL(await response.blob());
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
