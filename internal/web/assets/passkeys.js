// Passkeys in the browser: makes them, signs in with them, offers them in the autofill of the sign-in page. Loaded when it is needed.

import { T } from "./i18n.js";
import { Failure, call, identity, own } from "./api.js";

/** How long a request of the autofill waits: less than its challenge lives (5 minutes). */
const renewal = 4 * 60_000;

/** The request of the autofill, which ends when another one begins. A browser has one at a time. */
let waiting = new AbortController();

/** Returns the error that the page shows for a refusal of the browser or the person. @param {any} error */
function refusal(error) {
  const failure = new Failure(identity, 0);
  failure.message = error.name === "InvalidStateError" ? T("This device already has a passkey for your account.")
    : T("No passkey was used. You can try again.");
  return failure;
}

/** Makes a passkey. @param {any} options of the server @returns {Promise<string>} the answer for the server */
export async function create(options) {
  waiting.abort();
  try {
    const made = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey) });
    return JSON.stringify(made);
  } catch (error) {
    throw refusal(error);
  }
}

/**
 * Signs with a passkey.
 * @param {any} options of the server @param {CredentialRequestOptions} [more] @returns {Promise<string>} the answer for the server
 */
async function sign(options, more) {
  waiting.abort();
  waiting = new AbortController();
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey);
  return JSON.stringify(await navigator.credentials.get({ publicKey, signal: waiting.signal, ...more }));
}

/** Signs with one of the person's passkeys for a change that needs it. @returns {Promise<{type: string, key: string}>} authFactor */
export async function prove() {
  const { body } = await own("POST", `${identity}/profile/passkey/options`);
  return { type: "webauthn", key: await sign(body.options).catch((error) => Promise.reject(refusal(error))) };
}

/** Reports whether the signed-in person has a passkey. */
export const any = () => own("POST", `${identity}/profile/passkey/options`).then(() => true, () => false);

/**
 * @param {string} token the mfa token of the first step, or "" @param {CredentialRequestOptions} [more]
 * @returns {Promise<string>} the ID token
 */
async function enter(token, more) {
  const { body } = await call("POST", `${identity}/auth/passkey/options`, { token });
  const key = await sign(body.options, more);
  return (await call("POST", `${identity}/auth/login`, { token, json: { email: "", type: "webauthn", key } })).body.token;
}

/** Signs in: without password, or as the second step. @param {string} [token] the mfa token of the first step */
export const signIn = (token = "") => enter(token).catch((error) => Promise.reject(error instanceof Failure ? error : refusal(error)));

/**
 * Offers passkeys in the autofill of the address until one was chosen. Returns a function that ends it.
 * @param {(token: string) => unknown} onToken @param {(error: any) => unknown} onError
 */
export function autofill(onToken, onError) {
  let over = false;
  const offer = async () => {
    if (over || !await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
    const renew = setTimeout(() => { waiting.abort("renewal"); }, renewal);
    try {
      const token = await enter("", { mediation: "conditional" });
      if (!over) onToken(token);
    } catch (error) {
      if (over) return;
      if (error instanceof Failure) onError(error);
      if (error instanceof Failure && error.status === 401 || waiting.signal.reason === "renewal") offer();
    } finally {
      clearTimeout(renew);
    }
  };
  offer();
  return () => {
    over = true;
    waiting.abort();
  };
}
