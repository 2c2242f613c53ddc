import createClient, { type Client } from "openapi-fetch";

import { ConsignError } from "./errors.js";
import type { components as identityComponents, paths as identityPaths } from "./identity.js";
import { Backoff, passes, refused } from "./retry.js";
import type { components as transferComponents, paths as transferPaths } from "./transfer.js";

export { ChangedError, ConsignError, DigestError } from "./errors.js";
export { download, objectsOf, openLink, type ReceivedFile } from "./download.js";
export { reserve, Upload, type Delivery, type SentObject, type Source, type UploadOptions, type UploadState } from "./upload.js";

export type Transfer = transferComponents["schemas"]["Transfer"];
export type Mailbox = transferComponents["schemas"]["Mailbox"];
export type TransferSchemas = transferComponents["schemas"];
export type IdentitySchemas = identityComponents["schemas"];

export interface ConnectOptions {
  /** An API token (cns_…) or an access token; none for what strangers may do. */
  token?: string | (() => string | Promise<string>);
  /** How long failures of the network and a busy server are tried again, in ms; 10 minutes. */
  patience?: number;
  signal?: AbortSignal;
  fetch?: typeof fetch;
}

/**
 * One server. `identity` and `transfer` have all operations of the two APIs, typed. They throw a ConsignError for a status of 400 and more.
 */
export interface Consign {
  readonly identity: Client<identityPaths>;
  readonly transfer: Client<transferPaths>;
  readonly identityURL: string;
  readonly transferURL: string;
  readonly patience: number;
  readonly signal: AbortSignal | undefined;
  /** fetch with the token, and with errors as ConsignError. It does not try again. */
  request(url: string, init?: RequestInit): Promise<Response>;
}

/** Connects to the server at an address such as https://files.example.com: asks it where its APIs are. */
export async function connect(address: string, options: ConnectOptions = {}): Promise<Consign> {
  const doFetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  const patience = options.patience ?? 600_000;
  const { signal } = options;
  const once = async (input: Request): Promise<Response> => {
    if (options.token !== undefined && !input.headers.has("Authorization")) {
      const token = typeof options.token === "function" ? await options.token() : options.token;
      input.headers.set("Authorization", `Bearer ${token}`);
    }
    const response = await doFetch(input);
    if (response.status >= 400) throw await ConsignError.from(response);
    return response;
  };
  const again = async (input: Request): Promise<Response> => {
    const pauses = new Backoff({ patience, signal });
    for (;;) {
      try {
        return await once(input.clone());
      } catch (error) {
        if (!(input.method === "POST" ? refused(error) : passes(error))) throw error;
        await pauses.wait(error);
      }
    }
  };
  const root = new URL(address).origin;
  const environment = (await (await again(new Request(`${root}/.well-known/consign-environment`, signal ? { signal } : {}))).json()) as {
    baseUrlId: string;
    baseUrlSkp: string;
  };
  return {
    identity: createClient<identityPaths>({ baseUrl: environment.baseUrlId, fetch: again }),
    transfer: createClient<transferPaths>({ baseUrl: environment.baseUrlSkp, fetch: again }),
    identityURL: environment.baseUrlId,
    transferURL: environment.baseUrlSkp,
    patience,
    signal,
    request: (url, init) => once(new Request(url, signal && !init?.signal ? { ...init, signal } : init)),
  };
}

/** The data of an answer of `identity` or `transfer`. They throw for errors, so it is there. */
export function must<T>(answer: { data?: T | undefined; response: Response }): T {
  if (answer.data === undefined) throw new Error(`the server answered ${answer.response.status} without data`);
  return answer.data;
}
