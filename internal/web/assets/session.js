// Who is signed in in this browser. The ID token is in a cookie that scripts cannot read (contract 2.9). A second cookie, which ends
// with the first one, holds what the pages need to know about it. All tabs of a host share both.

const root = document.documentElement;

/** Returns the server's time in Unix milliseconds. The clock of the device may be wrong by years. @returns {number} */
export const now = () => Number(root.dataset.now) + performance.now();

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
/** Storage of this browser. */
export const device = storage("localStorage");
/** Whether the browser keeps the session cookie. It is Secure, so plain http is enough on localhost only. */
export const lasts = session !== noStorage && navigator.cookieEnabled && isSecureContext;

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

/**
 * The signed-in person: `uid`, `email`, `organization` (uid or ""), session id, id and expiry (Unix ms) of the ID token, and whether the
 * session survives closing the browser.
 * @typedef {{uid: string, email: string, organization: string, sid: string, jti: string, until: number, stay: boolean}} Person
 */

const secure = location.protocol === "https:";
const name = secure ? "__Host-who" : "who";

/** Returns the signed-in person, or null. The server may have ended the session. @returns {Person | null} */
export function person() {
  try {
    const value = document.cookie.split("; ").find((c) => c.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
    const found = JSON.parse(decodeURIComponent(value));
    return found.until > now() ? found : null;
  } catch {
    return null;
  }
}

/** @param {string} value @param {number} [seconds] of its life; without, it ends with the browser */
function write(value, seconds) {
  try {
    document.cookie = `${name}=${value}; Path=/; SameSite=Strict${secure ? "; Secure" : ""}${seconds === undefined ? ""
      : `; Max-Age=${seconds}`}`;
  } catch { /* cookies are blocked */ }
}

/** @param {any} of claims @returns {string} */
const organizationOf = (of) => String(Object.entries(of).find(([claim]) => claim.endsWith("/org_id"))?.[1] ?? "");

/** @param {Person} who */
const save = (who) => write(encodeURIComponent(JSON.stringify(who)), who.stay ? Math.floor((who.until - now()) / 1000) : undefined);

/** Writes down whose session the session cookie holds. @param {string} idToken @param {boolean} stay */
export function remember(idToken, stay) {
  const of = claims(idToken);
  save({ uid: of.sub ?? "", email: of.email ?? "", organization: organizationOf(of), sid: of.sid ?? "", jti: of.jti ?? "",
    until: of.exp * 1000, stay });
}

/** Updates what may change during a session. @param {string} accessToken of the same person */
export function refresh(accessToken) {
  const of = claims(accessToken), who = person();
  if (who) save({ ...who, email: of.email ?? who.email, organization: organizationOf(of) });
}

/** Removes what remember has written. */
export const drop = () => write("", 0);

/** Whether somebody is signed in. The server may have ended the session. */
export const signedIn = () => person() !== null;

/** Returns the uid of the signed-in person, or "". It is the owner of what store.js keeps. @returns {string} */
export const account = () => person()?.uid ?? "";

// ---- the other tabs

const tabs = "BroadcastChannel" in window ? new BroadcastChannel("consign.session") : null;
/** @type {Set<() => void>} */
const listeners = new Set();

/** Tells the other tabs that somebody has signed in or out, or that the session has changed. */
export const tell = () => tabs?.postMessage(account());

/**
 * Calls the listeners once this tab sees the cookie that the other one has written: the message may be faster.
 * @param {string} uid @param {number} tries
 */
function deliver(uid, tries) {
  if (account() !== uid && tries > 0) setTimeout(deliver, 20, uid, tries - 1);
  else listeners.forEach((listener) => listener());
}

/**
 * Calls a function when another tab signs in or out, or changes the session.
 * @param {() => void} listener @returns {() => void} ends the calls
 */
export function onSession(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
if (tabs) tabs.onmessage = ({ data }) => deliver(data, 50);
