// The form that creates an account, and the notice that the confirmation mail was sent. The pages /signup and /invitation/{key} use it.

import { Button, Field, Form, Icon, Notice, Problem, StepHeading, html, useAction, useEffect, useLoaded, useState } from "./ui.js";
import { F, T, locale } from "./i18n.js";
import { call, currentClaims, identity, keep, own } from "./api.js";
import { onSession } from "./session.js";
import { NewPassword } from "./signin.js";

/**
 * Asks for an account, then for a look into the mail. `next`: the path that the confirmation page opens afterwards, or "". `end`: what
 * follows the form.
 * @param {{address?: string, next?: string, title: any, lead?: any, end?: any}} props
 */
export function SignUp({ address = "", next = "", title, lead = null, end = null }) {
  const [sent, setSent] = useState("");
  const sign = useAction(async (input) => {
    const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const name = input.name.trim();
    const json = { address: input.address.trim(), password: input.password, locale, ...(name ? { name } : {}),
      ...(timeZone ? { timeZone } : {}), ...(next ? { next } : {}) };
    const { body } = await call("POST", `${identity}/signup`, { json });
    await keep(body.token, false);
    setSent(json.address);
  });
  if (sent) return html`<${Sent} address=${sent} next=${next} />`;
  return html`${title}
    ${lead ?? html`<p class="dim">${T("Use an address you can open: we’ll send a link to confirm it.")}</p>`}
    <${Form} onSend=${sign.run} refused=${sign.error}>
      <${Field} label=${T("Your name")} name="name" optional maxlength="120" autocomplete="name" />
      <${Field} label=${T("Email address")} name="address" type="email" required maxlength="254" autocomplete="username"
        defaultValue=${address} />
      <${NewPassword} label=${T("Password")} name="password" member="password" />
      <${Problem} error=${sign.error} />
      <${Button} type="submit" kind="primary" busy=${sign.busy}>${T("Create an account")}<//>
    <//>
    ${end}`;
}

/** Seconds between two questions whether the address was confirmed: at first, and at most. */
const soon = 4, late = 60;

/** Opens a path when the address of the account was confirmed, in another tab or in another browser. @param {string} path */
function useConfirmed(path) {
  useEffect(() => {
    let wait = soon, timer = 0, asked = performance.now(), over = false;
    const ask = async () => {
      if (over || document.hidden) return; // asks again when the page is visible
      clearTimeout(timer);
      asked = performance.now();
      const level = await currentClaims().then((of) => of.authLevel, (error) => (error.status === 401 ? undefined : 0));
      if (level > 0 && !over) location.replace(path);
      over ||= level !== 0; // confirmed, or the session has ended
      wait = Math.min(late, wait * 1.5);
      clearTimeout(timer);
      if (!over) timer = setTimeout(ask, wait * 1000);
    };
    const back = () => { if (performance.now() - asked > soon * 1000) ask(); };
    timer = setTimeout(ask, wait * 1000);
    const end = onSession(ask);
    addEventListener("focus", back);
    addEventListener("visibilitychange", back);
    return () => {
      over = true;
      clearTimeout(timer);
      end();
      removeEventListener("focus", back);
      removeEventListener("visibilitychange", back);
    };
  }, []);
}

/** Says that the confirmation mail was sent, and goes on when the address is confirmed. @param {{address: string, next?: string}} props */
export function Sent({ address, next = "" }) {
  useConfirmed(next || "/inbox");
  const again = useAction(() => own("POST", `${identity}/profile/emails/${encodeURIComponent(address)}/verify`,
    next ? { json: { next } } : {}));
  const [asked, setAsked] = useState(false);
  return html`<div class="center">
    <span class="halo"><${Icon} name="mail" /></span>
    <${StepHeading}>${T("Check your email")}<//>
    <p>${F("We’ve sent an email to %s. Open the link in it to confirm your address.", address)}</p>
    <p class="hint">${T("No email after a few minutes? Check your spam folder, or send it again.")}</p>
    <${Problem} error=${again.error} />
    ${asked && !again.error && !again.busy && html`<${Notice} kind="good">${T("We’ve sent another email.")}<//>`}
    <${Button} busy=${again.busy} onClick=${() => { setAsked(true); again.run(); }}>${T("Send the email again")}<//>
  </div>`;
}

/** Returns the key of an invitation in a path, or "". @param {string} path */
const invitationKey = (path) => /^\/invitation\/([\w-]+)$/.exec(path)?.[1] ?? "";

/**
 * Returns the address that an invitation was sent to, when `next` is the path of an invitation: undefined while it loads, "" when there is
 * none.
 * @param {string} next @returns {string | undefined}
 */
export function useInvited(next) {
  const key = invitationKey(next);
  const { value, error } = useLoaded(async () => (key ? (await call("GET", `${identity}/public/invitations/${key}`)).body.address ?? ""
    : ""));
  return error ? "" : value;
}
