// The HTTP client of the two APIs, and the session of the signed-in person. The ID token is in a cookie that the server sets. Access
// tokens are in memory only.

import { GeneralCode, TokenCode, errorSentence } from "./errors.js";
import { localPath } from "./next.js";
import { account, claims, device, drop, now, onSession, person, refresh, remember, signedIn, tell } from "./session.js";
import { removeReceipts, removeRecords } from "./store.js";

const root = document.documentElement;
/** Base path of the identity API. By this type calls.d.ts finds the operations. */
export const identity = /** @type {"/id/v3"} */ (root.dataset.identity ?? "/id/v3");
/** Base path of the transfer API. */
export const transfer = /** @type {"/transfer/v2"} */ (root.dataset.transfer ?? "/transfer/v2");

/** Whether a URL is of the identity API, or of a part of the operators' API that has its codes. @param {string} url */
const ofIdentity = (url) => url.startsWith(identity) || /^\/admin\/v1\/(session|people|org)/.test(url);

/** An error answer of an API; status 0 means that there was no answer. `message` is a sentence for the page. */
export class Failure extends Error {
  /**
   * @param {string} url of the request @param {number} status
   * @param {{code?: number, details?: string[], limit?: number, wait?: number, alternate?: string}} [error] as in the body, `wait` in
   *   seconds from Retry-After, `alternate` from the Link header
   */
  constructor(url, status, { code = status * 1000 + 1, details = [], limit = 0, wait = 0, alternate = "" } = {}) {
    super(errorSentence(ofIdentity(url), status, code, wait, limit));
    this.fromIdentity = ofIdentity(url);
    this.status = status;
    this.code = code;
    this.details = details;
    this.wait = wait;
    this.alternate = alternate;
  }
}

/**
 * Sends one request. Throws Failure for every answer that is not 2xx, and AbortError when `signal` aborts.
 * The body of the answer has the type of the OpenAPI documents (calls.d.ts).
 * @template {string} M @template {string} U
 * @param {M} method @param {U} url @param {import("../calls").Rest<M, U>} rest an `Options`
 * @returns {Promise<import("../calls").Answer<import("../calls").Body<M, U>>>}
 */
export async function call(method, url, ...rest) {
  let { token, json, body, type, signal, accept = "application/json",
    headers = {} } = /** @type {import("../calls").Options} */ (rest[0] ?? {});
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
  noteRenewal(bearer(response.headers));
  if (!response.ok) throw await failure(url, response);
  const answer = response.headers.get("Content-Type")?.includes("/json") && method !== "HEAD" ? await content(url, response, signal) : {};
  return { status: response.status, body: answer, headers: response.headers, response };
}

/**
 * `call` where the type of method and URL is known to the caller only.
 * @type {(method: string, url: string, options?: import("../calls").Options) => Promise<any>}
 */
const callAnything = call;

/**
 * Reads the body of an answer. It is cut off when the connection breaks, or when the page is left.
 * @param {string} url @param {Response} response @param {AbortSignal} [signal]
 */
async function content(url, response, signal) {
  try {
    return await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(url, 0);
  }
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

const none = { token: "", until: 0 };
let access = none;
/** @type {Promise<string> | null} */
let fetching = null;
let changes = 0; // of the session, as far as this page knows: what was requested before is of the session as it was

/** Removes the access token: the session has changed, here or in another tab. */
function changed() {
  access = none;
  changes++;
}

/**
 * Notes that the server has replaced the ID token in the cookie: any answer may carry a new one. Other tokens are ignored.
 * @param {string} token
 */
function noteRenewal(token) {
  const who = person();
  if (!token || !who || claims(token).scope !== "idtoken" || claims(token).sid !== who.sid) return;
  changed();
  remember(token, who.stay);
  tell();
}

/** @param {string} token ID token @param {boolean} stay */
async function putInCookie(token, stay) {
  await call("POST", `${identity}/auth/session`, { token, json: { stay } });
  remember(token, stay);
}

let shown = person(); // whose contents this page shows
let ended = false; // the server has ended its session
let unverified = false; // the server has refused something until the address is confirmed

/**
 * Begins or renews the session of this browser, and removes what others have left in it.
 * @param {string} token ID token @param {boolean} stay whether it survives closing the browser
 */
export async function keep(token, stay) {
  await left;
  device.removeItem(leaving);
  changed();
  await putInCookie(token, stay);
  [shown, ended] = [person(), false];
  const uid = account();
  removeReceipts(uid);
  await removeRecords((owner) => owner !== uid);
  tell();
}

/** Forgets the session, and removes what the person has left in this browser. The person's unfinished uploads are cancelled. */
export async function forget() {
  const owner = account();
  changed();
  drop();
  tell();
  removeReceipts("");
  const records = await removeRecords((of) => of !== "" && of === owner);
  const cancel = (/** @type {any} */ { uid, token }) => call("DELETE", `${transfer}/reservations/${uid}`, { token }).catch(() => {});
  await Promise.all(records.filter((record) => record?.uid).map(cancel));
}

/** Name of the note that a session is to be ended. Only the server can remove its cookie. */
const leaving = "consign.leaving";

/** Ends the session. When the server cannot be reached, this browser forgets it all the same, and a later page ends it. */
export async function endSession() {
  device.setItem(leaving, "yes");
  await Promise.all([forget(), logOut()]);
}

async function logOut() {
  try {
    await call("POST", `${identity}/auth/logout`);
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 401 && error.status !== 403) return;
  }
  device.removeItem(leaving);
}
const left = device.getItem(leaving) && !signedIn() ? logOut() : Promise.resolve();

/** Opens the start page when this page shows the contents of a person who is no longer signed in here. Returns whether it does. */
function leaveOthersPage() {
  const leaves = shown !== null && account() !== shown.uid;
  if (leaves) location.replace("/");
  return leaves;
}
onSession(() => {
  changed();
  leaveOthersPage();
  if (unverified && signedIn()) location.reload();
});
addEventListener("pageshow", (event) => { if (event.persisted) leaveOthersPage(); }); // by the Back button, from memory
addEventListener("visibilitychange", () => { if (!document.hidden) leaveOthersPage(); }); // without BroadcastChannel
removeReceipts(account());

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
  const before = changes;
  const { body } = await call("POST", `${identity}/auth/access`);
  const { iat, exp, sub } = claims(body.token);
  if (sub !== account()) { // somebody else has signed in in another tab
    drop();
    location.replace("/");
    return new Promise(() => {});
  }
  if (changes !== before) return renew();
  refresh(body.token);
  access = { token: body.token, until: now() + (exp - iat) * 1000 - Math.min(60_000, (exp - iat) * 500) };
  return access.token;
}

/** Returns the claims of the access token. @returns {Promise<any>} */
export const accessClaims = async () => claims(await accessToken());

/** Returns the claims of a new access token, which are those of this moment. @returns {Promise<any>} */
export function currentClaims() {
  access = none;
  return accessClaims();
}

/** Whether the API rejected the token, not a password or code in the request. @param {unknown} error */
const tokenRejected = (error) => error instanceof Failure && error.status === 401
  && (error.code === GeneralCode.UNAUTHENTICATED || error.code >= TokenCode.MISSING);

/**
 * Sends a request as the signed-in person. Without a valid session it calls `otherwise`, by default the redirect to the sign-in page.
 * @template {string} M @template {string} U
 * @param {M} method @param {U} url @param {import("../calls").Rest<M, U, [() => Promise<any>]>} rest an `Options`, and `otherwise`
 * @returns {Promise<import("../calls").Answer<import("../calls").Body<M, U>>>}
 */
export async function own(method, url, ...rest) {
  const [options = {}, otherwise = leave] = /** @type {[import("../calls").Options?, (() => Promise<any>)?]} */ (rest);
  for (let tries = 2; tries > 0 && signedIn(); tries--) {
    let before = changes;
    try {
      const token = await accessToken();
      before = changes;
      return await callAnything(method, url, { ...options, token });
    } catch (error) {
      if (error instanceof Failure && error.code === TokenCode.UNVERIFIED) {
        if (tries > 1 && changes !== before) continue; // confirmed meanwhile, in another tab
        unverified = true;
      }
      if (!tokenRejected(error)) throw error;
      access = none;
    }
  }
  if (signedIn()) {
    ended = true;
    await forget();
  } else if (!ended && shown && shown.until > now() && leaveOthersPage()) {
    return new Promise(() => {}); // signed out in another tab
  } else drop();
  return otherwise();
}

/** Sends a request as the signed-in person, or without a token. @type {import("../calls").Call} */
export const asAnybody = (method, url, ...rest) => own(method, url, .../** @type {any} */ ([rest[0], () => call(method, url, ...rest)]));

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
