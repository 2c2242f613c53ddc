// A small cupboard in IndexedDB: what an upload needs to go on after the page was closed. Where the browser has none (some
// private windows), nothing is kept and everything else works.

const open = new Promise((resolve, reject) => {
  const request = indexedDB.open("consign", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("uploads");
  request.onsuccess = () => resolve(request.result);
  request.onerror = request.onblocked = () => reject(request.error);
});
open.catch(() => {});

/** @param {"readonly" | "readwrite"} mode @param {(store: IDBObjectStore) => IDBRequest} work */
async function inStore(mode, work) {
  try {
    const db = await open;
    return await new Promise((resolve, reject) => {
      const request = work(db.transaction("uploads", mode).objectStore("uploads"));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } catch {
    return undefined;
  }
}

/** @param {string} key @returns {Promise<any>} */
export const recall = (key) => inStore("readonly", (store) => store.get(key));
/** @param {string} key @param {unknown} value */
export const keepRecord = (key, value) => inStore("readwrite", (store) => store.put(value, key));
/** @param {string} key */
export const removeRecord = (key) => inStore("readwrite", (store) => store.delete(key));

/**
 * Whether this window is the only one that works on key; it stays so until it is closed.
 * @param {string} key @returns {Promise<boolean>}
 */
export const alone = (key) => new Promise((resolve) => {
  if (!navigator.locks) return resolve(true);
  navigator.locks.request(`consign:${key}`, { ifAvailable: true }, (lock) => {
    resolve(lock !== null);
    return lock && new Promise(() => {});
  }).catch(() => resolve(true));
});
