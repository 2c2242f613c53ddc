// The frame of the console's pages (contract 9.2): navigation, requests as an operator, states of parts. A page is a module beside this
// one that calls showConsole, an entry in internal/web/console.go and one in `pages`.

import { Icon, Notice, Problem, Waiting, html, showOwn, useEffect, useLoaded, useRef } from "../ui.js";
import { T } from "../i18n.js";
import { Failure, call, own } from "../api.js";
import { TokenCode } from "../errors.js";
import { useList as useAnyList } from "../lists.js";
import { now } from "../session.js";
import { useStepUp } from "../stepup.js";
import "../shell.js";

/** Base path of the operators' API. */
const admin = "/admin/v1";

/** Pages as [name in the path, label], in the order of the navigation. The help desk has three. @type {() => [string, string][]} */
const pages = () => [
  ["", T("Overview")],
  ["charts", T("Charts")],
  ["people", T("People")],
  ["transfers", T("Transfers")],
  ["mailboxes", T("Mailboxes")],
  ["organizations", T("Organizations")],
  ["mails", T("Mail queue")],
  ["jobs", T("Background jobs")],
  ["storage", T("Storage")],
  ["holds", T("Legal holds")],
  ["keys", T("Keys")],
  ["settings", T("Settings")],
  ["audit", T("Audit")],
];

const helpDeskPages = ["", "people", "mails"];

/** The role of the operator: buttons that it refuses are not shown. */
let role = "operator";

/** Whether the role may make a change. @param {boolean} [helpDesk] the help desk may, too */
export const mayChange = (helpDesk) => role === "operator" || role === "helpdesk" && helpDesk === true;

/** An access token whose login counts as recent, in memory only. */
let renewed = { token: "", until: 0 };

/** Sends a request as the operator. Reading needs nothing else; changes use `useChange`. @type {import("../../calls").Ask} */
export const ask = async (method, path, ...rest) => {
  const send = /** @type {(send: any, more?: object) => Promise<any>} */ ((send,
    more) => send(method, admin + path, { ...rest[0], ...more }));
  if (renewed.until > now()) {
    try {
      return await send(call, { token: renewed.token });
    } catch (error) {
      if (!(error instanceof Failure) || error.status !== 401) throw error;
      renewed = { token: "", until: 0 };
    }
  }
  return send(own);
};

/**
 * Returns `change`, which sends a request like `ask`. When the login is too long ago, it asks for password and second factor in
 * `dialog`, which the component must show, and sends the request again.
 */
export function useChange() {
  const { stepUp, dialog } = useStepUp();
  /** @type {import("../../calls").Ask} */
  const change = async (method, path, ...rest) => {
    try {
      return await ask(method, path, ...rest);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== TokenCode.OPERATOR_SESSION) throw error;
    }
    const { body } = await stepUp("POST", `${admin}/session`);
    renewed = { token: body.token, until: now() + 9 * 60_000 };
    return ask(method, path, ...rest);
  };
  return { change, dialog };
}

/** How often a page that is in view reads again, in milliseconds. */
const interval = 15_000;

/**
 * Loads a value like `useLoaded`, and again every 15 s while the page is visible. A failure keeps the last value.
 * @template V @param {() => Promise<V>} load @param {unknown[]} [inputs]
 */
export function useLive(load, inputs = []) {
  const { value, error, reload } = useLoaded(load, inputs);
  const last = useRef(/** @type {V | undefined} */ (undefined));
  if (value !== undefined) last.current = value;
  useEffect(() => {
    const turn = setInterval(() => { if (!document.hidden) reload(); }, interval);
    return () => clearInterval(turn);
  }, []);
  return { value: last.current, error, reload };
}

/**
 * A list of the operators' API, page by page.
 * @template {string} P @template {import("../../calls").ListName<`/admin/v1${P}`>} K
 * @param {P} path with a query @param {K} member
 */
export const useList = (path, member) => useAnyList((method,
  url) => ask(method, /** @type {string} */ (url.slice(admin.length))), /** @type {const} */ (`${admin}${path}`), member);

/** Names and icons of the states of a part. @type {Record<string, () => [string, string]>} */
const states = {
  ok: () => ["check", T("works")], warning: () => ["alert", T("needs attention")], failed: () => ["alert", T("does not work")],
    off: () => ["pause", T("not set up")],
};

/** The state of a part, as an icon and words. @param {{of: string}} props */
export function State({ of }) {
  const [icon, text] = states[of]();
  return html`<span class=${`state ${of}`}><${Icon} name=${icon} /> ${text}</span>`;
}

/** Shows a page of the console. @param {string} name its name in `pages` @param {(props: any) => any} Page */
export function showConsole(name, Page) {
  showOwn(() => {
    const { value, error } = useLoaded(async () => (await ask("GET", "/session")).body);
    const link = (/** @type {[string, string]} */ [path,
      label]) => html`<a href=${path ? `/admin/${path}` : "/admin"} aria-current=${path === name ? "page" : undefined}>${label}</a>`;
    const title = pages().find(([path]) => path === name)?.[1];
    const outage = error?.status === 503 && name === ""; // the overview is served without the database
    if (error && !outage) return html`<h1>${title}</h1><${Refused} error=${error} />`;
    if (!value && !outage) return html`<${Waiting} />`;
    role = value?.role ?? role;
    const shown = pages().filter(([path]) => role !== "helpdesk" || helpDeskPages.includes(path));
    const mine = shown.some(([path]) => path === name);
    return html`<nav class="parts" aria-label=${T("Console")}>${shown.map(link)}</nav>
      <h1>${title}</h1>
      ${mine ? html`<${Page} operator=${value} />` : html`<${Notice} kind="bad">${T("Your role does not include this page.")}<//>`}`;
  });
}

/** Why the console is refused, and what to do. These sentences are here because every page loads errors.js. @param {{error: any}} props */
function Refused({ error }) {
  if (error.code === TokenCode.NOT_OPERATOR) return html`<${Notice} kind="bad">
    ${T("This page is for the operators of this installation.")}<//>`;
  if (error.code !== TokenCode.OPERATOR_FACTOR) return html`<${Problem} error=${error} />`;
  return html`<${Notice} kind="bad">${T("Operators need a second factor. Set one up on the account page, then sign in with it.")}<//>
    <p><a class="button" href="/account/security">${T("Sign-in and security")}</a></p>`;
}
