// What all uploads of the pages keep to, without the page: which failures are tried again, after which pauses, and how much at once. The Go
// and the TypeScript client have the same rules; client/testdata/retries.json has their cases.

import { GeneralCode, IdentityCode } from "../errors.js";

/** Requests with content at once. Browsers open six connections to a host. */
export const parallel = 5;

/** Bytes of the smallest request with content. */
export const minPart = 256 * 1024;

/** How many bytes to send after a request of so many has failed: whole bytes, or every server refuses the range. @param {number} part */
export const halved = (part) => Math.max(minPart, Math.floor(part / 2));

const passingStatus = [0, 408, 429, 500, 502, 503, 504, 509]; // 0: no answer
/** @type {number[]} */
const notStored = [GeneralCode.CONFLICT, IdentityCode.EXTERNAL_UNREACHABLE];

/**
 * Whether a failure can end by itself: the server is busy or was not reached, or something else goes on that it waits for (409 with
 * Retry-After), as parts that are being joined.
 * @param {{status: number, code: number, wait: number}} failure `wait`: Retry-After in seconds
 */
export const passes = ({ status, code, wait }) => passingStatus.includes(status) || status === 409
  && (wait > 0 || notStored.includes(code));

/** How long to wait after so many tries, in milliseconds. @param {number} tries @param {number} retryAfter seconds, or 0 */
export const pauseAfter = (tries, retryAfter) =>
  Math.max(retryAfter * 1000, Math.min(250 * 2 ** Math.min(tries, 10), 20_000) * (0.5 + Math.random() / 2));
