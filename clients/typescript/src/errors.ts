/** An error that the server answered. `code` is status × 1000 + n and stable; 0 when the answer was not from Consign. */
export class ConsignError extends Error {
  override readonly name = "ConsignError";

  constructor(
    readonly status: number,
    readonly code: number,
    message: string,
    readonly details: string[],
    /** Seconds that the server asks to wait; 0 when it does not say. */
    readonly retryAfter: number,
    /** X-Request-Id, with which an operator finds the request in the log. */
    readonly requestId: string,
    readonly headers: Headers,
    /** With 409010: the uid of the transfer that the reservation has become. */
    readonly transfer?: string,
  ) {
    super(message);
  }

  /** Reads the error of an answer. */
  static async from(response: Response): Promise<ConsignError> {
    const { status, headers } = response;
    let code = 0;
    let message = `the server answered ${status}`;
    let details: string[] = [];
    let transfer: string | undefined;
    try {
      const body = (await response.json()) as { error?: { code?: unknown; message?: unknown; details?: unknown; transfer?: unknown } };
      const error = body.error;
      if (error && typeof error.code === "number" && Math.floor(error.code / 1000) === status) {
        code = error.code;
        details = Array.isArray(error.details) ? error.details.map(String) : [];
        transfer = typeof error.transfer === "string" ? error.transfer : undefined;
        message = `${details.join("; ") || String(error.message)} (${code})`;
      }
    } catch {
      // no JSON, as from a proxy
    }
    const wait = Number(headers.get("Retry-After"));
    return new ConsignError(status, code, message, details, wait > 0 ? wait : 0, headers.get("X-Request-Id") ?? "", headers, transfer);
  }
}

/** A file is not what it was when its upload began. */
export class ChangedError extends Error {
  override readonly name = "ChangedError";
}

/** A download has another SHA-256 than the file that was sent. */
export class DigestError extends Error {
  override readonly name = "DigestError";
}
