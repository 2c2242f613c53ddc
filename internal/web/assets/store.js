// Records in IndexedDB from which an upload is resumed after the page was closed. Without IndexedDB (some private windows)
// nothing is stored and nothing fails.

const open = new Promise((resolve, reject) => {
  const request = indexedDB.open("consign", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("uploads");
  request.onsuccess = () => resolve(request.result);
  request.onerror = request.onblocked = () => reject(request.error);
});
open.catch(() => {});

/** Resolves to undefined when the store fails. @param {"readonly" | "readwrite"} mode @param {(store: IDBObjectStore) => IDBRequest} work */
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

/** Reads a record. @param {string} key @returns {Promise<any>} undefined when there is none */
export const readRecord = (key) => inStore("readonly", (store) => store.get(key));
/** Writes a record. @param {string} key @param {unknown} value */
export const writeRecord = (key, value) => inStore("readwrite", (store) => store.put(value, key));
/** Removes a record. @param {string} key */
export const removeRecord = (key) => inStore("readwrite", (store) => store.delete(key));

/**
 * Takes the browser-wide lock of a key until the window is closed. Resolves to false when another window has it.
 * @param {string} key @returns {Promise<boolean>}
 */
export const lockRecord = (key) => new Promise((resolve) => {
  if (!navigator.locks) return resolve(true);
  navigator.locks.request(`consign:${key}`, { ifAvailable: true }, (lock) => {
    resolve(lock !== null);
    return lock && new Promise(() => {});
  }).catch(() => resolve(true));
});
