// /account and /organization: API tokens for programs: making one, which is shown once, their list, and revoking.

import { Ask, Button, Check, Copy, Field, Form, Notice, Problem, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, N, T, since, when } from "./i18n.js";
import { call, identity } from "./api.js";
import { now } from "./session.js";
import { useStepUp } from "./stepup.js";

/** What a token may do: scope, sentence. @returns {[string, string][]} */
const scopes = () => [
  ["mailbox:drop", T("Deliver files to certain mailboxes")],
  ["transfers:read", T("See and download transfers")],
  ["transfers:send", T("Send, change and revoke transfers")],
  ["mailbox:manage", T("Change the mailbox")],
  ["organization:read", T("See the organization, its members and its activity")],
  ["organization:manage", T("Change the organization, its members and invitations")],
  ["webhooks", T("Use webhooks")],
  ["requests:read", T("See requests and what was handed in")],
  ["requests:manage", T("Make and change requests")],
];

const lifetimes = [30, 90, 180, 365]; // days
const day = 24 * 60 * 60 * 1000;

/** Shows the API tokens of the person, or of an organization. @param {{organization?: string}} props uid; none: the person's */
export function APITokens({ organization = "" }) {
  const { value, error, reload } = useLoaded(async () =>
    (await call("GET", `${identity}/tokens?${new URLSearchParams(organization ? { organization } : {})}`)).body.tokens);
  const [made, setMade] = useState(/** @type {IdentityAPI["CreatedAPIToken"] | null} */ (null));
  const [making, setMaking] = useState(false);
  const [asking, setAsking] = useState(/** @type {IdentityAPI["APIToken"] | null} */ (null));
  const revoke = useAction(async (uid) => {
    await call("DELETE", `${identity}/tokens/${uid}`);
    if (made?.uid === uid) setMade(null);
    reload();
  });
  const done = (/** @type {IdentityAPI["CreatedAPIToken"]} */ token) => {
    setMade(token);
    setMaking(false);
    reload();
  };
  return html`<section class="card stack" id="tokens"><h2>${T("API tokens")}</h2>
    <p class="dim">${organization
    ? T("With a token, a program acts for the organization, in the name of the administrator who made it.")
    : T("With a token, a program acts in your name, without your password.")}</p>
    ${made && html`<${Notice} kind="good" title=${T("Copy the token now. It isn’t shown again.")}>
      <p><code class="sum break">${made.token}</code></p>
      <${Copy} text=${made.token} label=${T("Copy the token")} /><//>`}
    ${!value && html`<${Waiting} error=${error} />`}
    <${Problem} error=${revoke.error} />
    ${value && value.length > 0 && html`<ul class="list rows">${value.map((t) =>
    html`<${Row} key=${t.uid} token=${t} shared=${organization !== ""} busy=${revoke.busy} onRevoke=${() => setAsking(t)} />`)}</ul>`}
    ${making
    ? html`<${Make} organization=${organization} onDone=${done} onCancel=${() => setMaking(false)} />`
    : html`<div><${Button} onClick=${() => { setMade(null); setMaking(true); }}>${T("Create a token")}<//></div>`}
    ${asking && html`<${Ask} question=${F("Revoke the token “%s”? Programs that use it stop working.", asking.name)} yes=${T("Revoke")}
      onYes=${() => revoke.run(asking.uid)} onClose=${() => setAsking(null)} />`}
  </section>`;
}

function Row({ token, shared, busy, onRevoke }) {
  const sentences = scopes().filter(([scope]) => token.scopes.includes(scope)).map(([, sentence]) => sentence);
  const used = token.lastUsedTimestamp
    ? F("last used %s from %s", since(token.lastUsedTimestamp, now()), token.lastIp ?? "–")
    : T("never used");
  return html`<li class="row between">
    <span><b class="break">${token.name}</b>
      <span class="hint block">${sentences.join(" · ")}${token.mailboxes.length > 0
        && html` (<span class="break">${token.mailboxes.join(", ")}</span>)`}</span>
      <span class="hint block">${shared && token.owner.name ? `${token.owner.name} · ` : ""}${used} · ${F("valid until %s",
        when(token.expirationTimestamp))}</span></span>
    <${Button} busy=${busy} onClick=${onRevoke} aria-label=${F("Revoke %s", token.name)}>${T("Revoke")}<//>
  </li>`;
}

function Make({ organization, onDone, onCancel }) {
  const [chosen, choose] = useState(/** @type {string[]} */ ([]));
  const { stepUp, dialog } = useStepUp(call); // with the session cookie: access tokens are refused
  const make = useAction(async ({ name, mailboxes = "", days }) => {
    const { body } = await stepUp("POST", `${identity}/tokens`, {
      name: name.trim(), scopes: chosen, expirationTimestamp: new Date(now() + Number(days) * day).toISOString(),
      ...(chosen.includes("mailbox:drop") ? { mailboxes: names(mailboxes) } : {}), ...(organization ? { organization } : {}),
    });
    onDone(body);
  });
  const turn = (/** @type {string} */ scope, /** @type {boolean} */
    on) => choose(on ? [...chosen, scope] : chosen.filter((s) => s !== scope));
  return html`<${Form} onSend=${make.run} refused=${make.error}>
    <${Field} label=${T("Name")} hint=${T("What uses it, such as “Nightly backup”.")} name="name" required maxlength="50" focus />
    <fieldset class="stack"><legend>${T("It may")}</legend>
      ${scopes().map(([scope, sentence]) => html`<${Check} key=${scope} label=${sentence} checked=${chosen.includes(scope)}
        onChange=${(/** @type {any} */ e) => turn(scope, e.target.checked)} />`)}</fieldset>
    ${chosen.includes("mailbox:drop") && html`<${Field} label=${T("Mailboxes")} hint=${T("Links of mailboxes, separated by commas.")}
      name="mailboxes" required />`}
    <${Field} label=${T("Valid for")} name="days" as="select">
      ${lifetimes.map((days) => html`<option value=${days} selected=${days === 90}>${N("%d day", "%d days", days)}</option>`)}<//>
    <${Problem} error=${make.error} />
    <div class="row"><${Button} type="submit" kind="primary" busy=${make.busy} disabled=${chosen.length === 0}>${T("Create the token")}<//>
      <${Button} onClick=${onCancel}>${T("Cancel")}<//></div>
  <//>${dialog}`;
}

/** Returns the keys of mailboxes that were typed, as links or names. @param {string} text */
const names = (text) => text.split(/[\s,;]+/).filter(Boolean).map((one) => one.replace(/^.*\/m\//, "").replace(/[/?#].*$/, ""));
