// Downloads that the browser makes itself, so that files of any size go straight to disk: a one-time key opens each.

import { call, own, transfer } from "./api.js";

/** @param {string} url */
function open(url) {
  const link = Object.assign(document.createElement("a"), { href: url, download: "", rel: "noopener" });
  document.body.append(link);
  link.click();
  link.remove();
}

/** Downloads a file of one's own transfer, or all of it as an archive. @param {string} uid @param {string} [objectUid] */
export async function downloadOwn(uid, objectUid) {
  const { body } = await own("POST", `${transfer}/auth/otk`, { json: { transferUid: uid, ...(objectUid ? { objectUid } : {}) } });
  open(`${transfer}/transfers/${uid}/${objectUid ? `objects/${objectUid}/content` : "archive"}?otk=${encodeURIComponent(body.key)}`);
}

/** Downloads by a transfer's link. @param {string} key @param {string} token the download token @param {string} [objectUid] */
export async function downloadPublic(key, token, objectUid) {
  const at = `${transfer}/public/transfers/${encodeURIComponent(key)}`;
  const { body } = await call("POST", `${at}/otk`, { token, json: objectUid ? { objectUid } : {} });
  open(`${at}/${objectUid ? `objects/${objectUid}/content` : "archive"}?otk=${encodeURIComponent(body.key)}`);
}
