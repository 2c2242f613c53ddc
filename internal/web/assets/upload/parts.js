// Sends a large file in parts at once, which fills a long line better than one stream (contract 4.27). The engine loads this module for
// the first file that is large enough.
//
// The server has the plan: which parts there are, and how many bytes it holds of each. So every start and every retry is the same: ask
// for the plan, send what is not held.

import { Failure, call } from "../api.js";
import { putPart } from "./part.js";
import { parallel } from "./policy.js";
import { joining } from "./retry.js";

/** @typedef {import("./engine.js").Upload} Upload */
/** @typedef {import("./engine.js").Item} Item */
/**
 * The answer of the server. A part of which no bytes are held is left out.
 * @typedef {{partSize: number, count: number, joined: number, sha256?: string, parts: {number: number, held: number}[]}} Plan
 */

const unit = 1024 * 1024; // bytes; the server keeps whole units of an interrupted part
const nearby = 25; // milliseconds of a round trip below which one stream fills the line
const enough = 4; // round trips that are measured before a line counts as long
const windowSeconds = 5; // between two decisions about the number of parts at once

/** Returns how many parts are sent at once on a line with that round trip in milliseconds, as the Go client does. @param {number} trip */
const partsAtOnce = (trip) => (trip < nearby ? 1 : Math.min(2 + Math.floor(trip / nearby), parallel));

/** How long this module's requests took, in milliseconds. @type {number[]} */
const clocked = [];

/**
 * Returns the round trips of the API requests of this page in milliseconds, without answers from a cache. The shortest one counts,
 * because load of the line and of the server only adds to it. Browsers that hide these times have `clocked`.
 */
function trips() {
  const timed = /** @type {PerformanceResourceTiming[]} */ (performance.getEntriesByType("resource"))
    .filter((e) => e.initiatorType === "fetch" && e.transferSize > 0 && e.responseStart > e.requestStart);
  return timed.length ? timed.map((e) => e.responseStart - e.requestStart) : clocked;
}

/**
 * Reads the plan of a file, or makes it. Returns undefined when there is none: the file is in one stream, the storage takes no parts
 * (409), or the object is gone.
 * @param {"GET" | "POST"} method @param {Upload} upload @param {Item} item @param {() => boolean} wanted @returns {Promise<Plan |
 *  undefined>}
 */
const ask = (method, upload, item, wanted) => upload.patiently(async () => {
  const began = performance.now();
  try {
    return (await call(method, `${upload.url}/${item.clientId}/parts`,
      { token: upload.token, json: method === "POST" ? {} : undefined })).body;
  } catch (error) {
    if (error instanceof Failure && [404, 409].includes(error.status)) return undefined;
    throw error;
  } finally {
    clocked.push(performance.now() - began);
  }
}, wanted);

/** @param {number[]} numbers */
const sum = (numbers) => numbers.reduce((all, n) => all + n, 0);

/** Notes how much the server has of files that an earlier visit has sent in parts. @param {Upload} upload @param {Item[]} items */
export const look = (upload, items) => Promise.all(items.map(async (item) => {
  const plan = await ask("GET", upload, item, () => true);
  if (!plan) return;
  item.held = sum(plan.parts.map((part) => part.held));
  if (item.held === item.size) item.state = "done"; // the confirm waits until they are joined
}));

/**
 * Sends a file in parts at once, if the line is long or if that has begun. It returns when the server has joined the parts, or when
 * `going` ends. When the file is to be sent in one stream, it returns without having sent it.
 * @param {Upload} upload @param {Item} item @param {() => boolean} going
 */
export async function sendInParts(upload, item, going) {
  const sender = new Sender(upload, item, going);
  item.request = sender;
  try {
    await sender.send();
  } catch (error) {
    if (going()) upload.reject(item, error);
  } finally {
    if (item.request === sender) Object.assign(item, { request: undefined, flying: 0 });
  }
}

/** What the senders of the parts of a file share. */
class Sender {
  /** @param {Upload} upload @param {Item} item @param {() => boolean} going */
  constructor(upload, item, going) {
    this.upload = upload;
    this.item = item;
    this.going = going;
    this.size = 0; // bytes of a part
    /** @type {number[]} */
    this.held = []; // bytes that the server has, by part
    /** @type {number[]} */
    this.flying = []; // bytes sent but not acknowledged, by part
    /** @type {Map<number, XMLHttpRequest>} */
    this.requests = new Map(); // by part
    this.lost = false; // the server has no such plan any more
    this.wanted = 1; // parts at once
    this.grows = true; // whether one more may help
    this.grown = 0; // bytes per second before one more was added, or 0
    this.window = { began: 0, bytes: 0 };
  }

  /** Whether parts are to be sent. */
  on() {
    return this.going() && !this.lost && !this.upload.stopped && !this.upload.over;
  }

  /** Ends all requests. */
  abort() {
    for (const request of this.requests.values()) request.abort();
  }

  /** Asks for the plan, or makes one when the line is long. */
  async agree() {
    const { upload, item, going } = this;
    let plan = await ask("GET", upload, item, going);
    const trip = () => Math.min(...trips());
    for (let n = trips().length; !plan && n < enough && trip() >= nearby; n++) plan = await ask("GET", upload, item, going);
    this.wanted = partsAtOnce(trip());
    return plan ?? (this.wanted > 1 && item.held === 0 ? ask("POST", upload, item, going) : undefined);
  }

  /** Sends everything and waits until the server has joined it. */
  async send() {
    const { upload, item, going } = this;
    let plan = await this.agree();
    for (let attempt = -1, joined = -1; plan && going() && !plan.sha256; attempt++) {
      this.begin(plan);
      await this.sendOpen();
      if (!going() || upload.stopped || upload.over) return;
      if (!this.lost) item.problem = joining();
      if (!this.lost && attempt >= 0) {
        if (plan.joined > joined) [joined, attempt] = [plan.joined, 0];
        await upload.backOff.wait(Math.min(attempt, 5), 0);
      }
      plan = (this.lost ? undefined : await ask("GET", upload, item, going)) ?? await ask("POST", upload, item, going);
    }
    if (!going()) return;
    item.problem = "";
    if (plan) item.held = item.size;
    else if (this.size) await upload.patiently(() => upload.readOffset(item), going); // the plan is gone, and cannot be made again
  }

  /** Begins with a plan, while nothing is being sent. @param {Plan} plan */
  begin(plan) {
    this.lost = false;
    this.size = plan.partSize;
    this.flying = new Array(plan.count).fill(0);
    this.held = new Array(plan.count).fill(0);
    this.note(plan);
    this.show();
  }

  /** Notes what the server holds of the parts that are not being sent. @param {Plan} plan */
  note(plan) {
    const held = new Map(plan.parts.map((part) => [part.number - 1, part.held]));
    this.held.forEach((_, n) => { if (!this.requests.has(n)) this.held[n] = held.get(n) ?? 0; });
  }

  /** Shows how much of the file is sent. */
  show() {
    if (!this.going()) return;
    this.item.held = sum(this.held);
    this.item.flying = sum(this.flying);
    this.upload.changed(this.upload);
  }

  /** Sends all parts that are not held. */
  async sendOpen() {
    const open = this.held.map((_, n) => n).filter((n) => this.held[n] < this.end(n)), running = new Set();
    this.window = { began: performance.now(), bytes: 0 };
    while (running.size || open.length && this.on()) {
      for (; this.on() && open.length && running.size < this.width(); open.shift()) {
        const task = this.sendPart(open[0]).finally(() => running.delete(task));
        running.add(task);
      }
      await Promise.race(running);
    }
  }

  /** Returns the bytes of a part. @param {number} n from 0 */
  end(n) {
    return Math.min(this.size, this.item.size - n * this.size);
  }

  /** Returns how many parts may be sent at once now, beside the other files. */
  width() {
    const files = this.upload.items.filter((item) => item.state === "sending" || item.state === "retrying").length;
    return Math.max(1, Math.min(this.wanted, Math.floor(parallel / files)));
  }

  /** Sends what is not held of a part, until it is held or nothing is to be sent any more. @param {number} n from 0 */
  async sendPart(n) {
    const { upload, item } = this, end = this.end(n);
    for (let attempt = 0, repeated = false; this.on() && this.held[n] < end;) {
      const rest = end - this.held[n], tried = Math.min(rest, Math.max(unit, Math.floor(upload.part / unit) * unit)),
        began = performance.now();
      try {
        this.held[n] = await this.put(n, tried);
        attempt = 0;
        if (tried < rest) upload.adapt(began);
      } catch (error) {
        if (!this.going()) break;
        const { status } = /** @type {Failure} */ (error);
        if (!repeated && (status === 404 || status === 409)) { // the plan is gone, or a late request of a closed page came between
          repeated = true;
          await this.read().catch((failure) => { if (this.going()) upload.reject(item, failure); });
        } else {
          // too many at once
          if (/** @type {Failure} */ (error).wait) Object.assign(this, { wanted: Math.max(1, this.wanted - 1), grows: true, grown: 0 });
          await upload.recover(item, error, tried > unit ? tried : 0, () => attempt++, this.going, () => this.read());
        }
        if (!this.going()) this.abort();
      }
      this.show();
    }
  }

  /** Sends bytes of a part and returns how many of it the server has then. @param {number} n from 0 @param {number} bytes */
  async put(n, bytes) {
    const { upload, item } = this, begin = n * this.size, from = this.held[n], url = `${upload.url}/${item.clientId}/parts/${n + 1}`;
    try {
      const held = await putPart({
        url, token: upload.token, file: /** @type {File} */ (item.file).slice(begin, begin + this.end(n)), from, to: from + bytes,
        onStart: (request) => this.requests.set(n, request),
        onProgress: (sent) => this.progress(n, Math.min(sent, bytes)),
      });
      if (held <= from) throw new Failure(url, 0); // wait before the next try
      return held;
    } finally {
      this.requests.delete(n);
      this.flying[n] = 0;
    }
  }

  /** @param {number} n part, from 0 @param {number} sent bytes of it in this request */
  progress(n, sent) {
    const { upload, item } = this, bytes = sent - this.flying[n];
    this.flying[n] = sent;
    upload.samples.push({ at: performance.now(), bytes });
    this.adapt(bytes);
    if (this.going()) [item.state, upload.broken] = ["sending", ""]; // another part may be waiting for its next try
    this.show();
  }

  /** Adds one part to those at once, as long as the one before has made the line a tenth faster. @param {number} bytes sent */
  adapt(bytes) {
    const { window } = this, seconds = (performance.now() - window.began) / 1000;
    window.bytes += bytes;
    if (seconds < windowSeconds) return;
    const rate = window.bytes / seconds;
    this.window = { began: performance.now(), bytes: 0 };
    if (!this.grows || this.requests.size < this.wanted) return;
    const helped = rate >= this.grown * 1.1, more = Number(helped && this.wanted < parallel);
    this.wanted += helped ? more : -1;
    [this.grows, this.grown] = [more > 0, more && rate];
  }

  /** Asks the server again how much it holds. */
  async read() {
    const plan = await ask("GET", this.upload, this.item, this.going);
    if (plan?.partSize === this.size) this.note(plan);
    else this.lost = true;
  }
}
