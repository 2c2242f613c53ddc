// The HTTP client of the two APIs, and the tokens of the signed-in person. The ID token is in sessionStorage, or in
// localStorage when the person chose to stay signed in. Access tokens are in memory only.

import { TokenCode, errorSentence } from "./errors.js";
import { localPath } from "./next.js";
import { removeReceipts, removeRecords } from "./store.js";

const root = document.documentElement;
/** Base path of the identity API. */
export const identity = root.dataset.identity ?? "/id/v3";
/** Base path of the transfer API. */
export const transfer = root.dataset.transfer ?? "/transfer/v2";

/** An error answer of an API; status 0 means that there was no answer. `message` is a sentence for the page. */
export class Failure extends Error {
  /**
   * @param {string} url of the request @param {number} status
   * @param {{code?: number, details?: string[], wait?: number, alternate?: string}} [error] code and details of the body, `wait`
   *   in seconds from Retry-After, `alternate` from the Link header
   */
  constructor(url, status, { code = status * 1000 + 1, details = [], wait = 0, alternate = "" } = {}) {
    super(errorSentence(url.startsWith(identity), status, code, wait));
    this.status = status;
    this.code = code;
    this.details = details;
    this.wait = wait;
    this.alternate = alternate;
  }
}

/**
 * Sends one request. Throws Failure for every answer that is not 2xx, and AbortError when `signal` aborts. An ID token in the
 * answer replaces the stored one.
 * @param {string} method @param {string} url
 * @param {{token?: string, json?: unknown, body?: BodyInit, type?: string, signal?: AbortSignal, accept?: string, headers?: Record<string, string>}} [options]
 * @returns {Promise<{status: number, body: any, headers: Headers, response: Response}>}
 */
export async function call(method, url, { token, json, body, type, signal, accept = "application/json", headers = {} } = {}) {
  /** @type {Record<string, string>} */
  const sent = { Accept: accept, "Accept-Language": root.lang, ...headers };
  if (token) sent.Authorization = `Bearer ${token}`;
  if (json !== undefined) [body, type] = [JSON.stringify(json), "application/json"];
  if (type) sent["Content-Type"] = type;
  let response;
  try {
    response = await fetch(url, { method, headers: sent, body, signal, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(url, 0);
  }
  replaceIdToken(bearer(response.headers));
  if (!response.ok) throw await failure(url, response);
  const answer = response.headers.get("Content-Type")?.includes("json") && method !== "HEAD" ? await response.json().catch(() => ({})) : {};
  return { status: response.status, body: answer, headers: response.headers, response };
}

/** Reads an error answer. @param {string} url @param {Response} response */
async function failure(url, response) {
  const { error } = await response.json().catch(() => null) ?? {};
  const alternate = /<(https?:[^>]+)>; rel="alternate"/.exec(response.headers.get("Link") ?? "")?.[1];
  return new Failure(url, response.status, { ...error, wait: Number(response.headers.get("Retry-After")) || 0, alternate });
}

/** Returns the bearer token of a response, or "". @param {Headers} headers */
export function bearer(headers) {
  const value = headers.get("Authorization") ?? "";
  return value.startsWith("Bearer ") ? value.slice(7) : "";
}

// ---- the session

/** Returns the server's time in Unix milliseconds. The clock of the device may be wrong by years. @returns {number} */
export const now = () => Number(root.dataset.now) + performance.now();

const stored = "consign.idToken";
/** Used instead of a storage that the browser denies, which it does when cookies are blocked. */
const noStorage = { getItem: () => null, setItem() {}, removeItem() {} };
/** @param {"sessionStorage" | "localStorage"} name @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">} */
function storage(name) {
  try {
    return window[name];
  } catch {
    return noStorage;
  }
}
/** Storage of this window. */
export const session = storage("sessionStorage");
const device = storage("localStorage");
/** Whether the session survives a change of page. */
export const lasts = session !== noStorage;

const none = { token: "", until: 0 };
let access = none;
/** @type {Promise<string> | null} */
let fetching = null;

/**
 * Returns the claims of a token, or {}. The signature is not checked: the claims only decide what the page shows.
 * @param {string} token @returns {any}
 */
export function claims(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0))));
  } catch {
    return {};
  }
}

/** Returns the ID token, or "". */
export const idToken = () => session.getItem(stored) ?? device.getItem(stored) ?? "";

/** Whether there is an ID token that has not expired. The server may have revoked it. */
export const signedIn = () => (claims(idToken()).exp ?? 0) * 1000 > now();

/** Replaces the stored ID token: any answer may carry a new one. Other tokens are ignored. @param {string} token */
function replaceIdToken(token) {
  if (!token || claims(token).scope !== "idtoken" || !idToken()) return;
  access = none;
  (session.getItem(stored) === null ? device : session).setItem(stored, token);
}

/** Returns the uid of the signed-in person, or "". It is the owner of what store.js keeps. @returns {string} */
export const account = () => (signedIn() ? claims(idToken()).sub ?? "" : "");

let shown = account(); // whose contents this page shows

/**
 * Begins or renews a session, and removes what others have left in this browser.
 * @param {string} token ID token @param {boolean} stay whether it survives closing the browser
 */
export async function keep(token, stay) {
  access = none;
  (stay ? device : session).setItem(stored, token);
  (stay ? session : device).removeItem(stored);
  shown = account();
  removeReceipts(shown);
  await removeRecords((owner) => owner !== shown);
}

/** Removes the session from this browser. */
function drop() {
  access = none;
  session.removeItem(stored);
  device.removeItem(stored);
}

/** Removes the session and what the person has left in this browser. The person's unfinished uploads are cancelled. */
export async function forget() {
  const person = account();
  drop();
  removeReceipts("");
  const records = await removeRecords((owner) => owner !== "" && owner === person);
  const cancel = (/** @type {any} */ { uid, token }) => call("DELETE", `${transfer}/reservations/${uid}`, { token }).catch(() => {});
  await Promise.all(records.filter((record) => record?.uid).map(cancel));
}

/** Opens the start page when this page shows the contents of a person who is no longer signed in here. */
function leaveOthersPage() {
  if (shown && account() !== shown) location.replace("/");
}
addEventListener("storage", (event) => { if (event.key === stored || event.key === null) leaveOthersPage(); }); // signed in or out in another window
addEventListener("pageshow", (event) => { if (event.persisted) leaveOthersPage(); }); // by the Back button, from memory
removeReceipts(shown);

/**
 * Returns an access token that is valid for at least a minute, or for half its lifetime when that is shorter. Parallel callers
 * share one request. @returns {Promise<string>}
 */
export async function accessToken() {
  if (access.until > now()) return access.token;
  fetching ??= renew().finally(() => { fetching = null; });
  return fetching;
}

async function renew() {
  const { body } = await call("POST", `${identity}/auth/access`, { token: idToken() });
  const { iat, exp } = claims(body.token);
  access = { token: body.token, until: now() + (exp - iat) * 1000 - Math.min(60_000, (exp - iat) * 500) };
  return access.token;
}

/** Returns the claims of the access token. @returns {Promise<any>} */
export const accessClaims = async () => claims(await accessToken());

/** Whether the API rejected the token, not a password or code in the request. @param {unknown} error */
const tokenRejected = (error) => error instanceof Failure && error.status === 401
  && (error.code === TokenCode.UNAUTHENTICATED || error.code >= TokenCode.MISSING);

/**
 * Sends a request as the signed-in person. Without a valid session it calls `otherwise`, by default the redirect to the sign-in page.
 * @param {string} method @param {string} url @param {Parameters<typeof call>[2]} [options] @param {() => Promise<any>} [otherwise]
 */
export async function own(method, url, options = {}, otherwise = leave) {
  for (let tries = 2; tries > 0 && signedIn(); tries--) {
    try {
      return await call(method, url, { ...options, token: await accessToken() });
    } catch (error) {
      if (!tokenRejected(error)) throw error;
      access = none;
    }
  }
  if (signedIn()) await forget(); // the session was ended
  else drop();
  return otherwise();
}

/**
 * Sends a request as the signed-in person, or without a token.
 * @param {string} method @param {string} url @param {Parameters<typeof call>[2]} [options]
 */
export const asAnybody = (method, url, options) => own(method, url, options, () => call(method, url, options));

/** Redirects to the sign-in page. The promise never resolves, so that callers do nothing until the page is gone. */
function leave() {
  signInFirst();
  return new Promise(() => {});
}

/** Redirects to the sign-in page, which returns here. */
export function signInFirst() {
  location.assign(withNext("/login", location.pathname + location.search));
}

/** Returns the path of this origin in the query parameter `next`, or "". */
export const nextPath = () => localPath(new URLSearchParams(location.search).get("next") ?? "", location.origin);

/** Returns a path with the query parameter `next`, unless that is empty. @param {string} path @param {string} next */
export const withNext = (path, next) => (next ? `${path}?next=${encodeURIComponent(next)}` : path);

/** Returns the path of this origin to open after sign-in. */
export const afterSignIn = () => nextPath() || "/inbox";
