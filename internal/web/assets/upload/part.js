// Sends one part of a file. It uses XMLHttpRequest because fetch reports no upload progress.

import { Failure } from "../api.js";

const stallTimeout = 40_000; // milliseconds without progress after which a request is aborted

/**
 * Sends the bytes of a file from one offset to another. Resolves to the number of bytes that the server then has; rejects with Failure.
 * @param {{url: string, token: string, file: Blob, from: number, to: number, onStart: (request: XMLHttpRequest) => void,
 *   onProgress: (sent: number) => void}} part onProgress receives the bytes sent so far
 * @returns {Promise<number>}
 */
export const putPart = ({ url, token, file, from, to, onStart, onProgress }) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  let timer = 0;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => request.abort(), stallTimeout);
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
    if (status >= 200 && status < 300) return resolve(response?.contentLength ?? response?.held ?? to);
    const wait = Number(status && request.getResponseHeader("Retry-After")) || 0;
    return reject(new Failure(url, status, { ...response?.error, wait }));
  };
  onStart(request);
  alive();
  request.send(file.slice(from, to));
});

/**
 * Whether a file can still be read and is unchanged since it was chosen.
 * @param {import("./engine.js").Item} item @returns {Promise<boolean>}
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
