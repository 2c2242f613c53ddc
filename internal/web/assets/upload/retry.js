// Which errors of an upload are retried, and the back-off between retries.

import { Failure } from "../api.js";
import { TransferCode } from "../errors.js";
import { T } from "../i18n.js";

/** Whether the reservation takes no more files. @param {unknown} error @returns {boolean} */
export const ended = (error) => error instanceof Failure && (error.status === 401 || error.status === 404 || error.code === TransferCode.CONFIRMED);

/**
 * Whether a retry may succeed: no network, server unavailable, rate limit, parts that are being joined (ErrJoining, the only conflict with
 * a Retry-After here). @param {unknown} error @returns {boolean}
 */
export const passing = (error) => error instanceof Failure
  && (error.status === 0 || error.status === 408 || error.status === 429 || error.status >= 500 || error.wait > 0);

/** Returns the sentence for parts that are being joined. */
export const joining = () => T("All parts have arrived. The server is putting the file together, which can take a moment.");

/** Returns the sentence for an error that is retried. @param {Failure} error */
export const interruption = (error) => (error.status === 409 ? joining()
  : error.status === 0 ? T("The connection is interrupted. The upload continues by itself when it’s back.") : error.message);

/** Exponential back-off with jitter, at most 30 s but never less than Retry-After. */
export class BackOff {
  constructor() {
    /** @type {Set<() => void>} each function ends one wait */
    this.waiting = new Set();
    addEventListener("online", () => this.end());
  }

  /** Waits before a retry. @param {number} attempt from 0 @param {number} retryAfter seconds, or 0 */
  async wait(attempt, retryAfter) {
    const delay = Math.max(retryAfter, Math.min(30, 2 ** attempt) * (0.5 + Math.random() / 2)) * 1000;
    await new Promise((/** @type {(value?: any) => void} */ resolve) => {
      setTimeout(resolve, delay);
      this.waiting.add(resolve);
    });
  }

  /** Ends all waits now. */
  end() {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
