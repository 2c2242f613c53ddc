// The components of sign-in: password, second factor or recovery code, external providers. Several pages use them.

import { Button, Check, Field, Form, Notice, Problem, html, useAction, useEffect, useFocus, useId, useLoaded, useRef,
  useRefusal, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { call, identity, keep, nextPath, withNext } from "./api.js";
import { claims, lasts, session } from "./session.js";
import { adoptLanguage, environment } from "./shell.js";

/** A password input with a button that shows the text. @param {import("./ui.js").Props} props */
export function Password({ label, hint = "", error = "", focus = false, ...rest }) {
  const id = useId();
  const input = useFocus(focus);
  const [open, setOpen] = useState(false);
  const described = [hint && `${id}h`, error && `${id}e`].filter(Boolean).join(" ") || undefined;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${hint && html`<p class="hint" id=${`${id}h`}>${hint}</p>`}
    <div class="password">
      <input ref=${input} id=${id} type=${open ? "text" : "password"} aria-describedby=${described}
        aria-invalid=${error ? "true" : undefined}
        required spellcheck="false" autocapitalize="none" ...${rest} />
      <button type="button" class="button quiet" aria-pressed=${String(open)} onClick=${() => setOpen(!open)}>
        ${open ? T("Hide") : T("Show")}</button>
    </div>
    ${error && html`<p class="wrong" id=${`${id}e`}>${error}</p>`}
  </div>`;
}

/** The least number of characters in a new password. */
const minimum = document.documentElement.dataset.passwordMinimum ?? "12";

/** An input for a new password, with its rules. `member`: its name in the request of the form. @param {import("./ui.js").Props} props */
export const NewPassword = ({ member, ...rest }) => html`<${Password} minlength=${minimum} maxlength="72" autocomplete="new-password"
  hint=${F("At least %s characters. Several words are easy to remember and hard to guess.", minimum)}
  error=${useRefusal(member) && T("This password is too short, too long or too common. Please choose another.")} ...${rest} />`;

/** Whether passkeys can be used: by this browser, and at this address. */
export const hasPasskeys = typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function"
  && !/^[\d.]+$|:/.test(location.hostname);
const passkeys = () => import("./passkeys.js");

/** Returns the authenticator type of a code: six digits are a TOTP, anything else is a recovery code. @param {string} code */
const kindOf = (code) => (/^\d{6}$/.test(code) ? "totp" : "recovery");

/**
 * Asks for the second factor.
 * @param {{email: string, token: string, onToken: (token: string) => Promise<void>}} props `token`: the mfa token; onToken receives the ID
 *  token
 */
export function SecondFactor({ email, token, onToken }) {
  const kinds = claims(token).authenticators ?? [];
  const passkey = useAction(async () => onToken(await (await passkeys()).signIn(token)));
  const sign = useAction(async ({ code, address = email }) => {
    const key = code.replace(/[\s-]/g, "").toUpperCase();
    const { body } = await call("POST", `${identity}/auth/login`, { token, json: { email: address.trim(), type: kindOf(key), key } });
    await onToken(body.token);
  });
  const touch = hasPasskeys && kinds.includes("webauthn"), codes = kinds.some((kind) => kind !== "webauthn");
  return html`${touch && html`<div class="stack tight">
      <${Button} kind="primary" busy=${passkey.busy} onClick=${() => passkey.run()}>${T("Use a passkey")}<//>
      <${Problem} error=${passkey.error} />
    </div>`}
  ${touch && codes && html`<div class="or"><span>${T("or")}</span></div>`}
  ${!touch && !codes && html`<${Notice} kind="bad">${T("Your account needs a passkey, which this browser cannot use here.")}<//>`}
  ${codes && html`<${Form} onSend=${sign.run}>
    ${!email && html`<${Field} label=${T("Email address")} name="address" type="email" required autocomplete="username" />`}
    <${Field} label=${T("Code from your authenticator app, or a recovery code")} name="code" required focus=${!touch} class="wide-code"
      autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" />
    <${Problem} error=${sign.error} />
    <${Button} type="submit" kind=${touch ? "plain" : "primary"} busy=${sign.busy}>${T("Continue")}<//>
  <//>`}`;
}

/**
 * Returns the URL of the sign-in page of another host, with the typed address and the page to open afterwards. The address is in the
 * fragment, which is not sent to servers.
 * @param {string} host any URL of the host @param {string} email
 */
function elsewhere(host, email) {
  const next = location.pathname === "/login" ? nextPath() : location.pathname + location.search;
  return new URL(`${withNext("/login", next)}#${new URLSearchParams({ email: email.trim() })}`, host).href;
}

/**
 * The complete sign-in.
 * @param {{email?: string, autofill?: boolean, onDone: () => unknown}} props onDone is called after the session began; `autofill`: offer
 *  passkeys
 *   in the autofill of the address
 */
export function SignIn({ email = "", autofill = false, onDone }) {
  const [pending, setPending] = useState(/** @type {any} */ (null));
  const [address, setAddress] = useState(email);
  const stay = useRef(false);
  const begin = async (token) => {
    await keep(token, stay.current);
    adoptLanguage(token);
    await onDone();
  };
  const passkey = useAction(async (done) => {
    const token = await (done ?? (await passkeys()).signIn()).catch((error) => {
      if (error.alternate) location.assign(elsewhere(error.alternate, ""));
      throw error;
    });
    await begin(token);
  });
  useEffect(() => {
    if (!autofill || !hasPasskeys || pending) return undefined;
    const loaded = passkeys().then((module) => module.autofill((token) => passkey.run(Promise.resolve(token)),
      (error) => passkey.run(Promise.reject(error))));
    return () => { loaded.then((end) => end()); };
  }, [pending]);
  const sign = useAction(async (input) => {
    setAddress(input.email);
    const json = { email: input.email.trim(), type: "bcrypt", key: input.password };
    const { body } = await call("POST", `${identity}/auth/login`, { json }).catch((error) => {
      if (error.alternate) location.assign(elsewhere(error.alternate, input.email)); // the organization's own host
      throw error;
    });
    if (claims(body.token).scope === "mfa") setPending(body.token);
    else await begin(body.token);
  });
  if (pending) {
    return html`<${SecondFactor} email=${address.trim()} token=${pending} onToken=${begin} />
      <p class="row center"><${Button} kind="quiet" onClick=${() => setPending(null)}>${T("Back")}<//></p>`;
  }
  return html`${!lasts && html`<${Notice} kind="bad">
    ${T("Your browser does not let this page keep who is signed in. Allow cookies for it, and reload the page.")}<//>`}
  <${Form} onSend=${sign.run}>
    <${Field} label=${T("Email address")} name="email" type="email" required autocomplete=${autofill ? "username webauthn" : "username"}
      value=${address}
      onInput=${(e) => setAddress(e.target.value)} />
    <${Password} label=${T("Password")} name="password" autocomplete="current-password" />
    <${Check} label=${T("Stay signed in on this device")} name="stay" onChange=${(e) => { stay.current = e.target.checked; }} />
    <${Problem} error=${sign.error} />
    ${sign.error?.alternate && html`<p><a class="button" href=${elsewhere(sign.error.alternate, address)}>
      ${F("Sign in at %s", new URL(sign.error.alternate).host)}</a></p>`}
    <${Button} type="submit" kind="primary" busy=${sign.busy}>${T("Sign in")}<//>
  <//>
  ${hasPasskeys && html`<div class="stack tight">
    <${Button} icon="key" busy=${passkey.busy} onClick=${() => passkey.run()}>${T("Sign in with a passkey")}<//>
    <${Problem} error=${passkey.error} />
  </div>`}
  <${Providers} onToken=${begin} />`;
}

// ---- external providers

const preflight = "consign.preflight";

/** The authorization endpoint by type of provider. @type {Record<string, (issuer: string) => string>} */
const authorize = {
  google: () => "https://accounts.google.com/o/oauth2/v2/auth",
  apple: () => "https://appleid.apple.com/auth/authorize",
  microsoft: (issuer) => `${issuer.replace(/\/v2\.0\/?$/, "")}/oauth2/v2.0/authorize`,
  keycloak: (issuer) => `${issuer.replace(/\/$/, "")}/protocol/openid-connect/auth`,
};
/** @type {Record<string, string>} */
const providerNames = { google: "Google", apple: "Apple", microsoft: "Microsoft", keycloak: "Keycloak" };

/** Buttons for external providers. Completes the sign-in after the redirect back. */
function Providers({ onToken }) {
  const { value } = useLoaded(() => environment);
  const settings = value?.oidcSettings;
  const [returned, setReturned] = useState("");
  useEffect(() => {
    const token = session.getItem(preflight);
    if (!token) return;
    session.removeItem(preflight);
    const here = new URL(location.href);
    if (here.searchParams.has("error")) {
      setReturned(T("The other service didn’t sign you in."));
      return;
    }
    call("GET", `${identity}/oidc/auth`, { token }).then(({ body }) => onToken(body.token), (error) => {
      if (error.alternate) location.assign(elsewhere(error.alternate, "")); // the organization's own host, where the sign-in begins again
      else if (error.status !== 401) setReturned(error.message); // 401: the person did not complete the sign-in there
    });
  }, []);
  const go = useAction(async (client) => {
    const back = new URL(location.href);
    back.searchParams.delete("error");
    const { body } = await call("POST", `${identity}/oidc/auth`, { json: { redirectUrl: back.href } });
    session.setItem(preflight, body.token);
    const url = new URL(authorize[client.type](client.issuer));
    url.search = String(new URLSearchParams({
      client_id: client.clientId, response_type: "id_token", response_mode: "form_post",
      scope: client.type === "apple" ? "name email" : "openid email profile",
      redirect_uri: settings?.redirectUrl ?? "", state: body.state, nonce: body.state,
    }));
    location.assign(url);
  });
  const clients = (settings?.clients ?? []).filter((client) => client.type in authorize);
  const button = (client) => html`<${Button} busy=${go.busy} onClick=${() => go.run(client)}>
    ${F("Sign in with %s", client.name || providerNames[client.type])}<//>`;
  return html`
    ${returned && html`<${Notice} kind="bad">${returned}<//>`}
    ${clients.length > 0 && html`<div class="or"><span>${T("or")}</span></div>
    <div class="stack tight">${clients.map(button)}</div>`}
    <${Problem} error=${go.error} />`;
}
