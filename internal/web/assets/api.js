// Calls of the two APIs, and the tokens of a signed-in person. The ID token lives in sessionStorage, in localStorage only
// if somebody asked to stay signed in; access tokens live in memory.

import { TokenCode, errorSentence } from "./errors.js";

const root = document.documentElement;
/** Base paths of the two APIs. */
export const identity = root.dataset.identity ?? "/id/v3";
export const transfer = root.dataset.transfer ?? "/transfer/v2";

/** A refusal by an API, or its absence (status 0). `message` is a sentence for people. */
export class Failure extends Error {
  /**
   * @param {string} url of the call @param {number} status
   * @param {{code?: number, details?: string[], wait?: number, alternate?: string}} [said] the error of the body; seconds to wait
   *   before a retry; where the same would succeed
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
 * Makes one call.
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
  remember(bearer(response.headers));
  if (!response.ok) throw await failure(url, response);
  const answer = response.headers.get("Content-Type")?.includes("json") && method !== "HEAD" ? await response.json().catch(() => ({})) : {};
  return { status: response.status, body: answer, headers: response.headers, response };
}

/** What a refusing answer says. @param {string} url @param {Response} response */
async function failure(url, response) {
  const { error } = await response.json().catch(() => null) ?? {};
  const alternate = /<(https?:[^>]+)>; rel="alternate"/.exec(response.headers.get("Link") ?? "")?.[1];
  return new Failure(url, response.status, { ...error, wait: Number(response.headers.get("Retry-After")) || 0, alternate });
}

/** The token of an Authorization answer header. @param {Headers} headers */
export function bearer(headers) {
  const value = headers.get("Authorization") ?? "";
  return value.startsWith("Bearer ") ? value.slice(7) : "";
}

// ---- the session

/** The time in milliseconds as the server has it: the clock of a device may be hours or years off. */
export const now = () => Number(root.dataset.now) + performance.now();

const stored = "consign.idToken";
/** What stands in for a storage that the browser refuses, as it does with cookies blocked. */
const refused = { getItem: () => null, setItem() {}, removeItem() {} };
/** @param {"sessionStorage" | "localStorage"} name @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">} */
function storage(name) {
  try {
    return window[name];
  } catch {
    return refused;
  }
}
/** What is kept for this window. */
export const session = storage("sessionStorage");
const device = storage("localStorage");
/** Whether this browser lets a session last from page to page. */
export const lasts = session !== refused;

const none = { token: "", until: 0 };
let access = none;
/** @type {Promise<string> | null} */
let fetching = null;

/** The claims of a token. The server has checked them; here they only steer what is shown. @param {string} token @returns {any} */
export function claims(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0))));
  } catch {
    return {};
  }
}

/** The ID token, or an empty string. */
export const idToken = () => session.getItem(stored) ?? device.getItem(stored) ?? "";

/** Whether somebody is signed in, as far as the browser knows. */
export const signedIn = () => (claims(idToken()).exp ?? 0) * 1000 > now();

/** Keeps token when it is an ID token, where the present one is: any answer may bring a new one. @param {string} token */
function remember(token) {
  if (!token || claims(token).scope !== "idtoken" || !idToken()) return;
  access = none;
  (session.getItem(stored) === null ? device : session).setItem(stored, token);
}

/** Begins or renews a session. @param {string} token @param {boolean} stay also after the browser is closed */
export function keep(token, stay) {
  access = none;
  (stay ? device : session).setItem(stored, token);
  (stay ? session : device).removeItem(stored);
}

/** Forgets the session of this browser. */
export function forget() {
  access = none;
  session.removeItem(stored);
  device.removeItem(stored);
}

/** An access token that is good for a while. @returns {Promise<string>} */
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

/** What the current access token says. */
export const accessClaims = async () => claims(await accessToken());

/** Whether the API rejected the token, not a password or code in the request. @param {unknown} error */
const tokenRejected = (error) => error instanceof Failure && error.status === 401
  && (error.code === TokenCode.UNAUTHENTICATED || error.code >= TokenCode.MISSING);

/**
 * Makes a call as the person who is signed in. A session that has ended leads to the sign-in page and back, or to `otherwise`.
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
  forget();
  return otherwise();
}

/**
 * Makes a call as the person who is signed in, or as nobody.
 * @param {string} method @param {string} url @param {Parameters<typeof call>[2]} [options]
 */
export const asAnybody = (method, url, options) => own(method, url, options, () => call(method, url, options));

/** Leads to the sign-in page; whatever waits meanwhile is left with the page. */
function leave() {
  signInFirst();
  return new Promise(() => {});
}

/** Leads to the sign-in page, and back here afterwards. */
export function signInFirst() {
  location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
}

/** Where to go after signing in: a path of this host, nothing else. */
export function afterSignIn() {
  const next = new URLSearchParams(location.search).get("next") ?? "";
  return /^\/(?![/\\])/.test(next) ? next : "/inbox";
}
