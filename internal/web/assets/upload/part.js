// One part of a file on its way to the server. XMLHttpRequest, because fetch does not tell how far a body is.

import { Failure } from "../api.js";

const stalled = 40_000; // milliseconds without progress after which a request is given up

/**
 * Sends the bytes of a file from one offset to another; the answer is how many the server holds then. Fails with a Failure.
 * @param {{url: string, token: string, file: File, from: number, to: number, onStart: (request: XMLHttpRequest) => void,
 *   onProgress: (sent: number) => void}} part onStart gets what can abort it; onProgress the bytes on their way
 * @returns {Promise<number>}
 */
export const putPart = ({ url, token, file, from, to, onStart, onProgress }) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  let timer = 0;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => request.abort(), stalled);
  };
  request.open("PUT", url);
  request.setRequestHeader("Authorization", `Bearer ${token}`);
  request.setRequestHeader("Content-Range", `bytes ${from}-${to - 1}/${file.size}`);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.setRequestHeader("Accept", "application/json");
  request.responseType = "json";
  request.upload.onprogress = (event) => {
    alive();
    onProgress(event.loaded);
  };
  request.onloadend = () => {
    clearTimeout(timer);
    const { status, response } = request;
    if (status >= 200 && status < 300) return resolve(response?.contentLength ?? to);
    const wait = Number(status && request.getResponseHeader("Retry-After")) || 0;
    return reject(new Failure(url, status, { ...response?.error, wait }));
  };
  onStart(request);
  alive();
  request.send(file.slice(from, to));
});

/**
 * Whether the bytes of a file can still be read as they were when it was chosen: browsers refuse once it was changed.
 * @param {import("./engine.js").Item} item
 */
export async function readable({ file, handle, size, modified, held }) {
  try {
    if (handle) {
      const now = await handle.getFile();
      if (now.size !== size || now.lastModified !== modified) return false;
    }
    await file?.slice(held, held + 1).arrayBuffer();
    return file !== null;
  } catch {
    return false;
  }
}
