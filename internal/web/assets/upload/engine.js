// The upload engine: creates the objects of a reservation and sends their bytes in parts, whose size adapts to the connection.
// It knows nothing of the page; `changed` tells listeners about each change.
//
// The server keeps the bytes that arrived in order, also of an interrupted part, and HEAD returns their number. So every retry
// is the same: back off, ask for the offset, continue there.

import { Failure, call, transfer } from "../api.js";
import { TransferCode, named } from "../errors.js";
import { putPart, readable } from "./part.js";
import { halved, minPart, parallel } from "./policy.js";
import { BackOff, ended, interruption, passing } from "./retry.js";
import { T } from "../i18n.js";

const maxPart = 64 * 1024 * 1024, firstPart = 2 * 1024 * 1024; // bytes
const partSeconds = 6; // target duration of a part
/** Larger files may be sent in parts at once, by parts.js. */
export const partsFrom = 64 * 1024 * 1024; // bytes
const volumeUsedUp = [
  TransferCode.PERSONAL_VOLUME, TransferCode.SUBSCRIPTION_VOLUME, TransferCode.STORAGE_VOLUME,
  TransferCode.MAILBOX_UNCONFIRMED, TransferCode.CLIENT_UNCONFIRMED,
];

/**
 * `item`: of a request, which the files are for.
 * @typedef {{uid: string, token: string, maxFiles: number, maxFileSizeMb: number, item?: string}} Reservation
 */

/**
 * A file of an upload. `run`: of the latest call of send. `held`: bytes that the server has. `flying`: bytes sent but not acknowledged.
 * `attached`: its object exists.
 * `state`: waiting, sending, paused, retrying, missing (must be chosen again), done, failed (see `problem`), removed.
 * @typedef {{clientId: string, name: string, size: number, modified: number, file: File | null, handle?: FileSystemFileHandle,
 *   held: number, flying: number, state: string, problem: string, attached: boolean,
 *   request?: {abort: () => void}, run?: object}} Item
 */

/** The files of one reservation. */
export class Upload {
  /** @param {Reservation} reservation @param {(upload: Upload) => void} changed called after each change */
  constructor(reservation, changed) {
    this.uid = reservation.uid;
    this.token = reservation.token;
    this.limits = { files: reservation.maxFiles, bytes: reservation.maxFileSizeMb * 1e6 };
    this.changed = changed;
    /** @type {Item[]} */
    this.items = [];
    this.part = firstPart; // present size of parts in bytes
    this.maxPart = maxPart; // lower after a proxy has answered 413
    this.broken = ""; // sentence for the error that is being retried, or ""
    this.stopped = ""; // sentence for the error that stopped the upload, or ""
    this.over = false; // the reservation takes no more files
    /** @type {{at: number, bytes: number}[]} */
    this.samples = [];
    this.next = 1; // number in the next clientId
    /** @type {WakeLockSentinel | undefined} */
    this.lock = undefined;
    this.attaching = false;
    this.item = reservation.item ?? "";
    this.url = /** @type {const} */ (`${transfer}/reservations/${this.uid}/objects`);
    this.backOff = new BackOff();
  }

  /**
   * Adds files. A chosen file whose name belongs to a missing item continues that item.
   * @param {import("../files.js").Chosen[]} chosen @returns {string[]} names of files that had been added before
   */
  add(chosen) {
    const known = new Map(this.items.map((item) => [item.name, item]));
    const twice = [];
    for (const { file, name, handle } of chosen) {
      const there = known.get(name);
      if (there?.state === "missing") {
        this.give(there, file, handle);
        continue;
      }
      if (there && there.state !== "failed" && there.size === file.size && there.modified === file.lastModified) {
        twice.push(name);
        continue;
      }
      if (there?.state === "failed") this.remove(there);
      const item = {
        clientId: `f${this.next++}-${Date.now().toString(36)}${this.item.slice(-6)}`,
        name, size: file.size, modified: file.lastModified, file, handle,
        held: 0, flying: 0, state: "waiting", problem: "", attached: false,
      };
      known.set(name, item);
      this.items.push(item);
    }
    this.judge();
    this.go();
    return twice;
  }

  /** Gives a missing item its file again. A file that changed since starts over. @param {Item} item @param {File} file */
  give(item, file, handle = item.handle) {
    if (file.size !== item.size || (item.modified && file.lastModified !== item.modified)) {
      this.remove(item);
      this.add([{ file, name: item.name, handle }]);
      return;
    }
    Object.assign(item, { file, handle, state: item.held === item.size && item.attached ? "done" : "waiting", problem: "" });
    this.go();
  }

  /** Fails the files beyond the limits of the reservation before they are sent. */
  judge() {
    let n = 0;
    for (const item of this.items) {
      if (item.attached || item.state === "failed") {
        n += Number(item.state !== "failed");
      } else if (item.size > this.limits.bytes) {
        this.fail(item, named(T("This file is too large for this mailbox."), this.limits.bytes, true));
      } else if (++n > this.limits.files) {
        this.fail(item, named(T("That’s more files than this mailbox accepts at once."), this.limits.files));
      }
    }
  }

  /** @param {Item} item @param {string} problem */
  fail(item, problem) {
    Object.assign(item, { state: "failed", problem, flying: 0 });
  }

  /** @param {Item} item */
  pause(item) {
    if (item.state === "sending" || item.state === "waiting" || item.state === "retrying") {
      Object.assign(item, { state: "paused", problem: "" });
      item.request?.abort();
      this.backOff.end();
      this.changed(this);
    }
  }

  /** @param {Item} item */
  resume(item) {
    if (item.state === "paused") {
      item.state = "waiting";
      this.go();
    }
  }

  /** @param {Item} item */
  remove(item) {
    const { attached } = item;
    item.state = "removed";
    item.request?.abort();
    this.items = this.items.filter((other) => other !== item);
    if (attached) this.patiently(() => this.call("DELETE", item), () => !this.over).catch(() => {});
    this.backOff.end();
    this.go();
  }

  /** Returns the sums over all files: bytes, bytes sent, bytes per second, seconds left, files by state. */
  totals() {
    const t = { files: 0, bytes: 0, sent: 0, done: 0, failed: 0, missing: 0, paused: 0, open: 0, speed: this.speed(), left: 0 };
    for (const item of this.items) {
      if (item.state === "failed") {
        t.failed++;
        continue;
      }
      t.files++;
      t.bytes += item.size;
      t.sent += item.held + item.flying;
      if (item.state === "done") t.done++;
      else if (item.state === "missing") t.missing++;
      else if (item.state === "paused") t.paused++;
      else t.open++;
    }
    t.left = t.speed > 0 ? (t.bytes - t.sent) / t.speed : 0;
    return t;
  }

  /**
   * Returns the bytes per second over the last 8 seconds, or 0 while less than a second is known: the first bytes of a connection go
   * into buffers, at any speed.
   */
  speed() {
    const now = performance.now();
    this.samples = this.samples.filter((s) => now - s.at < 8000);
    const seconds = this.samples.length ? (now - this.samples[0].at) / 1000 : 0;
    return seconds < 1 ? 0 : this.samples.slice(1).reduce((sum, s) => sum + s.bytes, 0) / seconds;
  }

  /** Whether there is a file and all files but the failed ones have arrived. */
  complete() {
    const t = this.totals();
    return t.files > 0 && t.done === t.files;
  }

  /** Attaches and sends all files that wait, up to the parallel limit. */
  go() {
    this.changed(this);
    if (this.stopped || this.over) return;
    this.attach();
    const active = this.items.filter((item) => item.state === "sending" || item.state === "retrying").length;
    const next = this.items.filter((item) => item.state === "waiting" && item.attached && item.file);
    next.slice(0, Math.max(0, parallel - active)).forEach((item) => this.send(item));
  }

  // ---- objects

  /** Creates the objects of waiting files in batches. */
  async attach() {
    if (this.attaching) return;
    this.attaching = true;
    try {
      for (let batch; (batch = this.items.filter((item) => !item.attached && item.state === "waiting").slice(0, 1000)).length;) {
        await this.createObjects(batch);
        this.attaching = false;
        this.go();
        this.attaching = true;
      }
    } catch (error) {
      this.end(error);
    } finally {
      this.attaching = false;
    }
  }

  /**
   * Creates the objects of a batch. The server takes all or none, so a rejected batch is halved until the failing file is known.
   * @param {Item[]} batch
   */
  async createObjects(batch) {
    try {
      const objects = batch.map(({ clientId, name, size }) => ({ clientId, name, intendedSize: size }));
      const place = this.item ? `${this.url}?item=${this.item}` : this.url;
      await this.patiently(() => call("POST", place, { token: this.token, json: { objects } }), () => !this.over);
      for (const item of batch) {
        item.attached = true;
        if (item.state === "removed") this.call("DELETE", item).catch(() => {});
        else if (item.size === 0) item.state = "done";
      }
    } catch (error) {
      if (!(error instanceof Failure) || ended(error) || passing(error)) throw error;
      if (batch.length === 1) {
        this.fail(batch[0], error.message);
        return;
      }
      const half = batch.length >> 1;
      await this.createObjects(batch.slice(0, half));
      await this.createObjects(batch.slice(half));
    }
  }

  // ---- sending

  /** Sends one file until it is complete, paused, failed, or the upload stops. @param {Item} item */
  async send(item) {
    const run = {};
    Object.assign(item, { state: "sending", problem: "", run });
    const going = () => item.run === run && (item.state === "sending" || item.state === "retrying");
    let attempt = 0;
    this.stayAwake();
    if (item.size > partsFrom) await import("./parts.js").then((parts) => parts.sendInParts(this, item, going), () => {});
    while (going() && item.held < item.size && !this.stopped && !this.over) {
      const tried = this.part;
      try {
        await this.sendPart(item);
        [attempt, this.broken, item.state] = [0, "", going() ? "sending" : item.state];
      } catch (error) {
        item.flying = 0;
        if (!going()) break;
        await this.recover(item, error, tried, () => attempt++, going);
      }
      this.changed(this);
    }
    if (going()) item.state = item.held >= item.size ? "done" : "waiting";
    this.go();
  }

  /**
   * Prepares the next try of a part after an error, or fails the file.
   * @param {Item} item @param {any} error @param {number} tried bytes of the part @param {() => number} nextAttempt
   * @param {() => boolean} going @param {() => Promise<void>} read asks the server how much it has
   */
  async recover(item, error, tried, nextAttempt, going, read = () => this.readOffset(item)) {
    const readOffset = () => read().catch((failure) => { if (!passing(failure)) this.reject(item, failure); });
    const there = await readable(item);
    if (!going()) return;
    if (!there) {
      this.fail(item, T("The file was changed, moved or deleted after you chose it. Remove it here and choose it again."));
    } else if (passing(error)) {
      item.state = "retrying";
      this.samples = []; // the time without a connection would count
      this.broken = interruption(error);
      this.part = halved(this.part);
      this.changed(this);
      await this.backOff.wait(nextAttempt(), error.wait);
      if (going()) await readOffset();
    } else if (error.status === 413 && tried > minPart) { // from a proxy: Consign has no limit for parts
      this.maxPart = Math.min(this.maxPart, halved(tried));
      this.part = Math.min(this.part, this.maxPart);
    } else if (error.status === 416 || error.code === TransferCode.BODY_LENGTH) {
      await readOffset();
    } else {
      this.reject(item, error);
    }
  }

  /** Handles an error that a retry would not change. @param {Item} item @param {any} error */
  reject(item, error) {
    if (ended(error)) return this.end(error);
    if (volumeUsedUp.includes(error.code)) {
      this.stopped = error.message;
      item.state = "waiting";
    } else if (error.status === 409) { // another window sends the file, or this one cannot load parts.js
      item.state = "paused";
      item.problem = error.message;
    } else {
      this.fail(item, error instanceof Failure ? error.message : T("Something went wrong. Please try again later."));
      if (error.code === TransferCode.MIME_TYPE) item.attached = false; // the server has removed it
    }
  }

  /** Stops the upload. @param {unknown} error */
  end(error) {
    if (ended(error)) {
      this.over = true;
    } else {
      if (!(error instanceof Failure)) console.error(error);
      this.stopped = error instanceof Failure ? error.message : T("Something went wrong. Please try again later.");
    }
    for (const item of this.items) item.request?.abort();
    this.changed(this);
  }

  /** Sends the next part of a file. @param {Item} item */
  async sendPart(item) {
    const from = item.held, to = Math.min(item.size, from + this.part), began = performance.now();
    let last = 0;
    const held = await putPart({
      url: `${this.url}/${item.clientId}/content`, token: this.token, file: /** @type {File} */ (item.file), from, to,
      onStart: (request) => { item.request = request; },
      onProgress: (sent) => {
        this.samples.push({ at: performance.now(), bytes: sent - last });
        [last, item.flying] = [sent, Math.min(sent, to - from)];
        this.changed(this);
      },
    });
    [item.held, item.flying, item.request] = [held, 0, undefined];
    this.adapt(began);
  }

  /** Adapts the part size so that the next part takes about `partSeconds`. @param {number} began when this one did, by performance.now() */
  adapt(began) {
    const took = (performance.now() - began) / 1000;
    this.part = Math.round(Math.min(this.maxPart, Math.max(minPart, this.part * Math.min(2, Math.max(0.5, partSeconds / took)))));
  }

  /** Reads from the server how many bytes of a file it has. @param {Item} item */
  async readOffset(item) {
    const { headers } = await this.call("HEAD", item, "/content");
    item.held = Number(headers.get("Content-Length")) || 0;
    this.broken = "";
  }

  /**
   * Sends a request about the object of a file.
   * @param {"HEAD" | "DELETE"} method @param {Item} item @param {"" | "/content"} below appended to the object's path
   */
  call(method, item, below = "") {
    return call(method, `${this.url}/${item.clientId}${below}`, { token: this.token, accept: "*/*" });
  }

  // ---- retries

  /**
   * Repeats a call with back-off until it succeeds, fails for good, or `wanted` returns false.
   * @template V @param {() => Promise<V>} work @param {(error: Failure) => boolean} wanted @returns {Promise<V>}
   */
  async patiently(work, wanted) {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await work();
        this.broken = "";
        return result;
      } catch (error) {
        if (!(error instanceof Failure) || !passing(error) || !wanted(error)) throw error;
        this.broken = interruption(error);
        this.changed(this);
        await this.backOff.wait(attempt, error.wait);
      }
    }
  }

  /** Keeps the screen on during the upload, where the browser supports it. */
  async stayAwake() {
    if (this.lock || !navigator.wakeLock || document.hidden) return;
    this.lock = await navigator.wakeLock.request("screen").catch(() => undefined);
    this.lock?.addEventListener("release", () => { this.lock = undefined; });
  }

  // ---- delivery

  /**
   * Confirms the reservation. When an earlier confirm succeeded but its answer was lost, only the uid of the transfer is known.
   * @param {Record<string, any>} metadata members to set on the reservation @returns {Promise<any>} the transfer
   */
  async deliver(metadata) {
    const { items } = this;
    const gone = items.filter((item) => item.state === "failed" && item.attached);
    for (const item of gone) await this.patiently(() => this.call("DELETE", item), () => true).catch(() => {});
    const at = /** @type {const} */ (`${transfer}/reservations/${this.uid}`);
    try {
      await this.patiently(() => call("PATCH", at, { token: this.token, json: metadata }), () => true);
      const { body } = await this.patiently(() => call("POST", `${at}/confirm`, { token: this.token }), () => true);
      return body;
    } catch (error) {
      if (error instanceof Failure && error.code === TransferCode.CONFIRMED) return { uid: error.details.join(" ")
        .match(/[0-9a-f-]{36}/)?.[0] };
      if (ended(error)) this.end(error);
      throw error;
    } finally {
      this.lock?.release();
    }
  }
}
