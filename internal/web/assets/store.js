// What the pages store besides the session: records in IndexedDB from which an upload is resumed after the page was closed, and
// receipts in sessionStorage, which end with the tab. Each has an owner: the uid of the signed-in person, or "". Only the owner reads
// it. Without storage (some private windows) nothing is stored and nothing fails.

import { account } from "./session.js";

const store = "uploads", receipts = "consign.receipt.";

/** @type {Promise<IDBDatabase> | undefined} */
let database;

const open = () => database ??= new Promise((resolve, reject) => {
  const request = indexedDB.open("consign", 2);
  request.onupgradeneeded = () => {
    const { result } = request;
    if (result.objectStoreNames.contains(store)) result.deleteObjectStore(store); // records of version 1 have no owner
    result.createObjectStore(store);
  };
  request.onsuccess = () => {
    request.result.onversionchange = () => request.result.close();
    resolve(request.result);
  };
  request.onerror = request.onblocked = () => reject(request.error);
});

/**
 * Resolves to the result when the transaction is complete, or to undefined when the store fails.
 * @param {"readonly" | "readwrite"} mode @param {(store: IDBObjectStore) => IDBRequest} work
 */
async function inStore(mode, work) {
  try {
    const db = await open();
    return await new Promise((resolve, reject) => {
      const transaction = db.transaction(store, mode);
      const request = work(transaction.objectStore(store));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } catch {
    return undefined;
  }
}

/** The owner and the name of a record. @typedef {[owner: string, name: string]} Key */

/** Reads a record. @param {Key} key @returns {Promise<any>} undefined when there is none */
export const readRecord = (key) => inStore("readonly", (records) => records.get(key));
/** Writes a record. @param {Key} key @param {unknown} value */
export const writeRecord = (key, value) => inStore("readwrite", (records) => records.put(value, key));
/** Removes a record. @param {Key} key */
export const removeRecord = (key) => inStore("readwrite", (records) => records.delete(key));

/**
 * Removes the records of some owners.
 * @param {(owner: string) => boolean} which @returns {Promise<any[]>} the removed records
 */
export async function removeRecords(which) {
  const keys = await inStore("readonly", (records) => records.getAllKeys()) ?? [];
  const chosen = keys.filter((/** @type {Key} */ [owner]) => which(owner));
  return Promise.all(chosen.map(async (/** @type {Key} */ key) => {
    const record = await readRecord(key);
    await removeRecord(key);
    return record;
  }));
}

/**
 * Takes the browser-wide lock of a key until the window is closed. Resolves to false when another window has it.
 * @param {Key} key @returns {Promise<boolean>}
 */
export const lockRecord = (key) => new Promise((resolve) => {
  if (!navigator.locks) return resolve(true);
  navigator.locks.request(`consign:${key.join(":")}`, { ifAvailable: true }, (lock) => {
    resolve(lock !== null);
    return lock && new Promise(() => {});
  }).catch(() => resolve(true));
});

// ---- receipts

/**
 * Calls a function with the storage of this tab, unless the browser denies it.
 * @template V @param {(tab: Storage) => V} work @returns {V | undefined}
 */
function inTab(work) {
  try {
    return work(sessionStorage);
  } catch {
    return undefined;
  }
}

/** The name of a receipt in sessionStorage. @param {Key} key */
const receiptName = ([owner, name]) => `${receipts}${owner}.${name}`;

/** Whether the page was loaded by a reload. Other ways to open a page begin a new visit. */
const reloaded = () => {
  const [entry] = performance.getEntriesByType("navigation");
  return /** @type {PerformanceNavigationTiming | undefined} */ (entry)?.type === "reload";
};

/**
 * Returns the receipt that the page showed before it was reloaded. A new visit removes it.
 * @param {Key} key @returns {any} undefined when there is none
 */
export function readReceipt(key) {
  if (!reloaded()) removeReceipt(key);
  return inTab((tab) => JSON.parse(tab.getItem(receiptName(key)) ?? "null")) ?? undefined;
}
/** Keeps a receipt for a reload. One that is larger than the storage is not kept. @param {Key} key @param {unknown} receipt */
export const writeReceipt = (key, receipt) => inTab((tab) => tab.setItem(receiptName(key), JSON.stringify(receipt)));
/** Removes a receipt. @param {Key} key */
export const removeReceipt = (key) => inTab((tab) => tab.removeItem(receiptName(key)));

/** Removes the receipts of all owners but one from this tab. @param {string} kept the owner */
export const removeReceipts = (kept) => inTab((tab) => {
  for (const name of Object.keys(tab)) if (name.startsWith(receipts) && !name.startsWith(`${receipts}${kept}.`)) tab.removeItem(name);
});

const claims = "consign.claim."; // names in sessionStorage, by the name of a record
/** Keeps the address of a person without an account, which opens the own record after a reload. @param {Key} key @param {string} address */
export const writeClaim = ([, name], address) => inTab((tab) => tab.setItem(claims + name, address));
/** Removes it. @param {Key} key */
export const removeClaim = ([, name]) => inTab((tab) => tab.removeItem(claims + name));
/** Returns it, only after a reload: another visit in this tab may be another person's. @param {Key} key @returns {string | undefined} */
export const readClaim = ([, name]) => (reloaded() ? inTab((tab) => tab.getItem(claims + name)) ?? "" : undefined);

// ---- opened transfers

const openings = "consign.open."; // names in sessionStorage, by the key of the link
/** Keeps the download token of a protected transfer for this tab. @param {string} link @param {string} token */
export const writeOpening = (link, token) => inTab((tab) => tab.setItem(openings + link, JSON.stringify([account(), token])));
/** Removes it. @param {string} link */
export const removeOpening = (link) => inTab((tab) => tab.removeItem(openings + link));
/** Returns the download token that this tab has kept, for the same person only; "" without one. @param {string} link @returns {string} */
export function readOpening(link) {
  const [owner, token] = inTab((tab) => JSON.parse(tab.getItem(openings + link) ?? "[]")) ?? [];
  return owner === account() ? token ?? "" : "";
}
