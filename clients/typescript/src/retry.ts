import { ConsignError } from "./errors.js";

/** How long failures are tried again, in ms, and a signal that ends everything. */
export interface Patience {
  patience: number;
  signal?: AbortSignal | undefined;
}

const passingStatus = new Set([408, 429, 500, 502, 503, 504, 509]);
const notStored = [409001, 409050]; // a conflict of two requests; an identity provider that is away

/**
 * Whether a failure can end by itself: the server is busy or was not reached (fetch throws a TypeError), or something else goes on that it
 * waits for (409 with Retry-After). client/testdata/retries.json has the cases.
 */
export function passes(error: unknown): boolean {
  if (!(error instanceof ConsignError)) return error instanceof TypeError;
  return passingStatus.has(error.status) || error.status === 409 && (error.retryAfter > 0 || notStored.includes(error.code));
}

/** Whether the server has not carried a request out, so that even a POST can be repeated. */
export function refused(error: unknown): boolean {
  return error instanceof ConsignError && ([429, 503, 509].includes(error.status) || notStored.includes(error.code));
}

/** How long to wait after so many tries, in ms; `asked` is the server's Retry-After in seconds. */
export function pauseAfter(tries: number, asked: number, patience: number): number {
  const usual = Math.min(250 * 2 ** Math.min(tries, 10), 20_000) * (0.5 + Math.random() / 2);
  return Math.min(Math.max(usual, asked * 1000), Math.max(patience / 4, 1000));
}

/** Pauses between tries: 0.25 s, doubled up to 20 s, and a random part of it. */
export class Backoff {
  private tries = 0;
  private since = 0;

  constructor(private readonly how: Patience) {}

  /** Waits, or throws the error when the patience has ended. */
  async wait(error: unknown): Promise<void> {
    const { patience, signal } = this.how;
    signal?.throwIfAborted();
    const now = Date.now();
    if (this.tries === 0) this.since = now;
    const pause = pauseAfter(this.tries++, error instanceof ConsignError ? error.retryAfter : 0, patience);
    if (now - this.since + pause > patience) throw error;
    await new Promise<void>((resolve, reject) => {
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, pause);
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /** To be called when bytes got through. */
  reset(): void {
    this.tries = 0;
  }
}

/** Repeats a call that the server recognizes, or that does no harm twice, until it works or fails for good. */
export async function repeat<T>(how: Patience, call: () => Promise<T>): Promise<T> {
  const pauses = new Backoff(how);
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!passes(error)) throw error;
      await pauses.wait(error);
    }
  }
}

/** Repeats a call that creates, with an Idempotency-Key, so that a lost answer does not make it create twice. */
export async function once<T>(how: Patience, call: (header: { "Idempotency-Key"?: string }) => Promise<T>): Promise<T> {
  const header = { "Idempotency-Key": crypto.randomUUID() };
  try {
    return await repeat(how, () => call(header));
  } catch (error) { // too many keys; or what was created is known to nobody, stays empty and expires
    if (error instanceof ConsignError && [403906, 409903].includes(error.code)) return call({});
    throw error;
  }
}
