// Sends files to a reservation: announces them, sends their bytes in parts that suit the connection, goes on from where
// the server stands after anything that went wrong. It knows nothing of the page; whoever shows it listens.
//
// The server keeps what arrived in order, also of a part that was cut off, and HEAD tells how much that is. So the rule
// after every failure is the same: wait a little, ask, go on from there.

import { Failure, call, transfer } from "../api.js";
import { TransferCode } from "../errors.js";
import { putPart, readable } from "./part.js";
import { T } from "../i18n.js";

const least = 256 * 1024, most = 64 * 1024 * 1024, first = 2 * 1024 * 1024;
const aim = 6; // seconds a part should take
const atOnce = 5; // files; browsers open six connections to a host
const volumeUsedUp = [TransferCode.PERSONAL_VOLUME, TransferCode.SUBSCRIPTION_VOLUME, TransferCode.STORAGE_VOLUME];

/**
 * A file of an upload. `held`: bytes the server has; `flying`: bytes on the way.
 * State: waiting, sending, paused, retrying (goes on by itself), missing (to be chosen again), done, failed (says why).
 * @typedef {{clientId: string, name: string, size: number, modified: number, file: File | null, handle?: FileSystemFileHandle,
 *   held: number, flying: number, state: string, problem: string, attached: boolean, speed: number, request?: XMLHttpRequest}} Item
 */

/** Ended: the reservation cannot take anything any more. */
const ended = (error) => error instanceof Failure && (error.status === 401 || error.status === 404 || error.code === TransferCode.CONFIRMED);

/** May pass: the network, the server's breaks, full buckets. */
const passing = (error) => error instanceof Failure && (error.status === 0 || error.status === 408 || error.status === 429 || error.status >= 500);

/** @param {any} error one that may pass */
const interruption = (error) => (error.status === 0 ? T("The connection is interrupted. The upload goes on by itself as soon as it is back.") : error.message);

export class Upload {
  /**
   * @param {{uid: string, token: string, maxFiles: number, maxFileSizeMb: number}} reservation
   * @param {(upload: Upload) => void} changed called whenever something is different
   */
  constructor(reservation, changed) {
    this.uid = reservation.uid;
    this.token = reservation.token;
    this.limits = { files: reservation.maxFiles, bytes: reservation.maxFileSizeMb * 1e6 };
    this.changed = changed;
    /** @type {Item[]} */
    this.items = [];
    this.part = first;
    this.most = most;
    this.broken = ""; // why nothing moves at the moment, though it will again by itself
    this.stopped = ""; // why nothing more can be sent; empty: it can
    this.over = false; // the reservation has ended
    this.samples = [];
    this.next = 1;
    this.url = `${transfer}/reservations/${this.uid}/objects`;
    this.waiting = new Set(); // what ends each wait
    addEventListener("online", () => this.wake());
  }

  /**
   * Takes files in. A file that is missing since the page was opened again is recognised by name and size.
   * @param {import("../files.js").Chosen[]} chosen @returns {string[]} names of files that were there already
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
        clientId: `f${this.next++}-${Date.now().toString(36)}`, name, size: file.size, modified: file.lastModified, file, handle,
        held: 0, flying: 0, state: "waiting", problem: "", attached: false, speed: 0,
      };
      known.set(name, item);
      this.items.push(item);
    }
    this.judge();
    this.go();
    return twice;
  }

  /** Gives a missing item its file again; one that was changed since begins anew. @param {Item} item @param {File} file */
  give(item, file, handle = item.handle) {
    if (file.size !== item.size || (item.modified && file.lastModified !== item.modified)) {
      this.remove(item);
      this.add([{ file, name: item.name, handle }]);
      return;
    }
    Object.assign(item, { file, handle, state: item.held === item.size && item.attached ? "done" : "waiting", problem: "" });
    this.go();
  }

  /** Marks what the limits do not allow, before anything is sent. */
  judge() {
    let n = 0;
    for (const item of this.items) {
      if (item.attached || item.state === "failed") {
        n += Number(item.state !== "failed");
      } else if (item.size > this.limits.bytes) {
        this.fail(item, T("This file is larger than the mailbox takes."));
      } else if (++n > this.limits.files) {
        this.fail(item, T("These are more files than the mailbox takes at once."));
      }
    }
  }

  /** @param {Item} item @param {string} problem */
  fail(item, problem) {
    Object.assign(item, { state: "failed", problem, flying: 0, speed: 0 });
  }

  /** @param {Item} item */
  pause(item) {
    if (item.state === "sending" || item.state === "waiting" || item.state === "retrying") {
      item.state = "paused";
      item.request?.abort();
      this.wake();
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
    this.wake();
    this.go();
  }

  /** What there is: bytes, bytes the server has, speed, files by state. */
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

  /** Bytes a second over the last seconds. */
  speed() {
    const now = performance.now();
    this.samples = this.samples.filter((s) => now - s.at < 8000);
    if (this.samples.length < 2) return 0;
    return this.samples.reduce((sum, s) => sum + s.bytes, 0) / Math.max(1, (now - this.samples[0].at) / 1000);
  }

  /** Whether every file that is not refused has arrived, and there is one. */
  complete() {
    const t = this.totals();
    return t.files > 0 && t.done === t.files;
  }

  /** Starts whatever can be started. */
  go() {
    this.changed(this);
    if (this.stopped || this.over) return;
    this.attach();
    const active = this.items.filter((item) => item.state === "sending" || item.state === "retrying").length;
    const next = this.items.filter((item) => item.state === "waiting" && item.attached && item.file);
    next.slice(0, Math.max(0, atOnce - active)).forEach((item) => this.send(item));
  }

  // ---- announcing

  async attach() {
    if (this.attaching) return;
    this.attaching = true;
    try {
      for (let batch; (batch = this.items.filter((item) => !item.attached && item.state === "waiting").slice(0, 1000)).length;) {
        await this.announce(batch);
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

  /** Announces files, all or none; a batch that is refused is halved until it is clear which file it is about. @param {Item[]} batch */
  async announce(batch) {
    try {
      const objects = batch.map(({ clientId, name, size }) => ({ clientId, name, intendedSize: size }));
      await this.patiently(() => call("POST", this.url, { token: this.token, json: { objects } }), () => !this.over);
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
      await this.announce(batch.slice(0, half));
      await this.announce(batch.slice(half));
    }
  }

  // ---- sending

  /** Sends one file to its end, or until something stops it. @param {Item} item */
  async send(item) {
    item.state = "sending";
    const going = () => item.state === "sending" || item.state === "retrying";
    let attempt = 0;
    this.stayAwake();
    while (going() && item.held < item.size && !this.stopped && !this.over) {
      const tried = this.part;
      try {
        await this.sendPart(item);
        [attempt, this.broken, item.state] = [0, "", going() ? "sending" : item.state];
      } catch (error) {
        item.flying = 0;
        if (!going()) break;
        if (!await readable(item)) {
          this.fail(item, T("The file was changed, moved or deleted since it was chosen. Remove it here and choose it again."));
        } else if (passing(error)) {
          item.state = "retrying";
          this.broken = interruption(error);
          this.part = Math.max(least, this.part / 2);
          this.changed(this);
          await this.pauseFor(attempt++, error.wait);
          if (going()) await this.ask(item).catch((failure) => { if (!passing(failure)) this.refuse(item, failure); });
        } else if (error.status === 413 && tried > least) { // a proxy's; Consign takes parts of any size
          this.most = Math.min(this.most, Math.max(least, tried / 2));
          this.part = Math.min(this.part, this.most);
        } else if (error.status === 416 || error.code === TransferCode.BODY_LENGTH) {
          await this.ask(item).catch((failure) => { if (!passing(failure)) this.refuse(item, failure); });
        } else {
          this.refuse(item, error);
        }
      }
      this.changed(this);
    }
    if (going()) item.state = item.held >= item.size ? "done" : "waiting";
    item.speed = 0;
    this.go();
  }

  /** What to do about a refusal that will not pass by itself. @param {Item} item @param {any} error */
  refuse(item, error) {
    if (ended(error)) return this.end(error);
    if (volumeUsedUp.includes(error.code)) {
      this.stopped = error.message;
      item.state = "waiting";
    } else if (error.code === TransferCode.OVERTAKEN) {
      item.state = "paused";
      item.problem = error.message;
    } else {
      this.fail(item, error instanceof Failure ? error.message : T("This did not work. Please try again later."));
      if (error.code === TransferCode.MIME_TYPE) item.attached = false; // the server has removed it
    }
  }

  /** @param {any} error why the reservation has ended */
  end(error) {
    if (!ended(error)) {
      if (!(error instanceof Failure)) console.error(error);
      this.stopped = error instanceof Failure ? error.message : T("This did not work. Please try again later.");
    } else {
      this.over = true;
      this.confirmed = error.code === TransferCode.CONFIRMED;
    }
    for (const item of this.items) item.request?.abort();
    this.changed(this);
  }

  /** Sends the next part of a file, and adapts the size of parts to how long it took. @param {Item} item */
  async sendPart(item) {
    const from = item.held, to = Math.min(item.size, from + this.part), began = performance.now();
    let last = 0, lastAt = began;
    const held = await putPart({
      url: `${this.url}/${item.clientId}/content`, token: this.token, file: /** @type {File} */ (item.file), from, to,
      onStart: (request) => { item.request = request; },
      onProgress: (sent) => {
        const now = performance.now(), moved = sent - last;
        this.samples.push({ at: now, bytes: moved });
        if (now > lastAt) item.speed = item.speed * 0.7 + 0.3 * (moved / (now - lastAt)) * 1000;
        [last, lastAt, item.flying] = [sent, now, Math.min(sent, to - from)];
        this.changed(this);
      },
    });
    [item.held, item.flying, item.request] = [held, 0, undefined];
    const took = (performance.now() - began) / 1000;
    this.part = Math.round(Math.min(this.most, Math.max(least, this.part * Math.min(2, Math.max(0.5, aim / took)))));
  }

  /** Asks how much of a file the server has. @param {Item} item */
  async ask(item) {
    const { headers } = await this.call("HEAD", item, "/content");
    item.held = Number(headers.get("Content-Length")) || 0;
    this.broken = "";
  }

  /** @param {string} method @param {Item} item */
  call(method, item, below = "") {
    return call(method, `${this.url}/${item.clientId}${below}`, { token: this.token, accept: "*/*" });
  }

  // ---- patience

  /**
   * Repeats a call until it succeeds, is refused for good, or is no longer wanted.
   * @template V @param {() => Promise<V>} work @param {(error: Failure) => boolean} wanted
   */
  async patiently(work, wanted) {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await work();
        this.broken = "";
        return result;
      } catch (error) {
        if (!passing(error) || !wanted(error)) throw error;
        this.broken = interruption(error);
        this.changed(this);
        await this.pauseFor(attempt, error.wait);
      }
    }
  }

  /** Waits longer each time, up to half a minute, never less than the server asked for; the network's return ends it. */
  async pauseFor(attempt, wait = 0) {
    const delay = Math.max(wait, Math.min(30, 2 ** attempt) * (0.5 + Math.random() / 2)) * 1000;
    await new Promise((resolve) => {
      setTimeout(resolve, delay);
      this.waiting.add(resolve);
    });
  }

  /** Ends all waits. */
  wake() {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }

  /** Keeps the screen on while bytes move, where the browser lets us. */
  async stayAwake() {
    if (this.lock || !navigator.wakeLock || document.hidden) return;
    this.lock = await navigator.wakeLock.request("screen").catch(() => undefined);
    this.lock?.addEventListener("release", () => { this.lock = undefined; });
  }

  // ---- the end

  /**
   * Hands the files over. An answer that was lost is asked for again; when it was delivered by an answer that never came, there is only
   * the transfer's uid. @param {object} metadata members of the reservation @returns {Promise<any>} the transfer
   */
  async deliver(metadata) {
    const { items } = this;
    const gone = items.filter((item) => item.state === "failed" && item.attached);
    for (const item of gone) await this.patiently(() => this.call("DELETE", item), () => true).catch(() => {});
    const at = `${transfer}/reservations/${this.uid}`;
    try {
      await this.patiently(() => call("PATCH", at, { token: this.token, json: metadata }), () => true);
      const { body } = await this.patiently(() => call("POST", `${at}/confirm`, { token: this.token }), () => true);
      return body;
    } catch (error) {
      if (error instanceof Failure && error.code === TransferCode.CONFIRMED) return { uid: error.details.join(" ").match(/[0-9a-f-]{36}/)?.[0] };
      if (ended(error)) this.end(error);
      throw error;
    } finally {
      this.lock?.release();
    }
  }
}
