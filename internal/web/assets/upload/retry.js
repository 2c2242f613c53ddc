// Errors of an upload: which end it, what the page says, and the waits between retries.

import { Failure } from "../api.js";
import { TransferCode } from "../errors.js";
import { T } from "../i18n.js";
import { passes, pauseAfter } from "./policy.js";

/** Whether the reservation takes no more files. @param {unknown} error @returns {boolean} */
export const ended = (error) => error instanceof Failure
  && (error.status === 401 || error.status === 404 || error.code === TransferCode.CONFIRMED);

/** Whether a retry may succeed. @param {unknown} error @returns {boolean} */
export const passing = (error) => error instanceof Failure && passes(error);

/** Returns the sentence for parts that are being joined. */
export const joining = () => T("All parts have arrived. The server is putting the file together, which can take a moment.");

/** Returns the sentence for an error that is retried. @param {Failure} error */
export const interruption = (error) => (error.status === 409 ? joining()
  : error.status === 0 ? T("The connection is interrupted. The upload continues by itself when it’s back.") : error.message);

/** Exponential back-off. All waits end when the connection is back. */
export class BackOff {
  constructor() {
    /** @type {Set<() => void>} each function ends one wait */
    this.waiting = new Set();
    addEventListener("online", () => this.end());
  }

  /** Waits before a retry. @param {number} attempt from 0 @param {number} retryAfter seconds, or 0 */
  async wait(attempt, retryAfter) {
    await new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
      setTimeout(resolve, pauseAfter(attempt, retryAfter));
      this.waiting.add(resolve);
    });
  }

  /** Ends all waits now. */
  end() {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}
