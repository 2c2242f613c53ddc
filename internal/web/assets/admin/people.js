// /admin/people: finds people, and shows and changes one (?person=uid).

import { Field, Problem, Waiting, html } from "../ui.js";
import { F, T, bytes, list as inWords, when } from "../i18n.js";
import { saveBody } from "../downloads.js";
import { roleName } from "../roles.js";
import { Facts, Table } from "../lists.js";
import { ask, showConsole, useList, useLive } from "./console.js";
import { Find, Found, query } from "./find.js";
import { Mails } from "./maillist.js";
import { Action } from "./reasons.js";

showConsole("people", () => (query.get("person") ? html`<${Person} uid=${query.get("person")} />` : html`<${People} />`));

/** The page of a person. @param {string} uid */
const page = (uid) => `/admin/people?person=${encodeURIComponent(uid)}`;

function People() {
  const search = query.get("search") ?? "", by = query.get("by") === "name" ? "name" : "email";
  const row = (/** @type {AdminAPI["People"]["people"][number]} */ p) => html`<tr key=${p.uid}><th scope="row"><a href=${page(p.uid)}>
    ${p.email}</a></th>
    <td>${p.name}</td><td>${p.organization?.name}</td><td>${when(p.lastLoginAt)}</td><td><${Marks} of=${p} /></td></tr>`;
  return html`<section class="card stack">
    <${Find} page="people" choices=${[["email", T("Part of the address")], ["name", T("Beginning of the name")]]}
      label=${T("Search for")} />
    <${Found} path=${`/people?${new URLSearchParams({ by, search })}`} member="people" caption=${T("People")} row=${row}
      none=${T("Nobody was found.")} elsewhere=${T("Nobody so far. More addresses can be compared.")}
      head=${[T("Email address"), T("Name"), T("Organization"), T("Last sign-in"), T("State")]} />
    <div><${Action} label=${T("Register a person")}
      question=${T("The address counts as confirmed. A mail has a link with which the person sets the password.")} path="/people"
      read=${(/** @type {any} */ { address, name }) => ({ address: address.trim(), name: name.trim() })}
        onDone=${(/** @type {Response} */ _, /** @type {any} */ { uid }) => location.assign(page(uid))}>
      <${Field} label=${T("Email address")} name="address" type="email" required autocomplete="off" />
      <${Field} label=${T("Name")} optional name="name" maxlength="255" autocomplete="off" /><//></div>
  </section>`;
}

/** What stands out about a person. @param {{of: any}} props */
const Marks = ({ of: p }) => html`${!p.verified && html`<span class="badge warn">${T("Address not verified")}</span> `}
  ${p.hasFactor && html`<span class="badge good">${T("Second factor")}</span> `}${p.operator
    && html`<span class="badge">${T("Operator")}</span>`}`;

/** @param {{uid: string}} props */
function Person({ uid }) {
  const at = /** @type {const} */ (`/people/${encodeURIComponent(uid)}`);
  const { value: p, error, reload } = useLive(async () => (await ask("GET", at)).body, [at]);
  const back = html`<p><a href="/admin/people">${T("All people")}</a></p>`;
  if (!p) return html`${back}<${Waiting} error=${error} />`;
  const primary = p.emails.find((e) => e.primary), who = p.name || primary?.email || p.uid;
  return html`${back}<${Problem} error=${error} />
    <${About} of=${p} who=${who} />
    <${Factors} of=${p.authenticators} />
    <${Sessions} of=${p.sessions} />
    <section class="card stack"><h2>${T("Mails")}</h2>
      ${p.emails.map((e) => html`<${MailsTo} key=${e.email} address=${e.email} />`)}</section>
    <section class="card stack"><h2>${T("Limits")}</h2>
      <p>${p.uploadVolumeBytes === null ? T("The monthly volume is the one of the server’s settings.")
        : F("%s can be uploaded in a month.", bytes(p.uploadVolumeBytes))}</p>
      <div class="row"><${Action} label=${T("Change the limit")} question=${F("How much may %s upload in a month?", who)}
        path=${`${at}/limits`} onDone=${reload}
        read=${(/** @type {any} */ { volume }) => ({ uploadVolumeGb: volume === "" ? null : Number(volume) })}>
        <${Field} label=${T("Monthly volume, in GB")} hint=${T("Empty: the server’s settings apply.")} name="volume" type="number" min="0"
          max="1000000000" step="any"
          defaultValue=${p.uploadVolumeBytes === null ? "" : p.uploadVolumeBytes / 1e9} /><//></div></section>
    <section class="card stack"><h2>${T("Actions")}</h2><div class="row">
      <${Action} helpDesk label=${T("End all sessions")} question=${F("End all sessions of %s and delete the API tokens?", who)}
        path=${`${at}/end-sessions`} onDone=${reload} />
      ${p.suspendedAt ? html`<${Action} label=${T("Reactivate")} question=${F("End the suspension of %s?", who)}
        path=${`${at}/reactivate`} onDone=${reload} />`
        : html`<${Action} kind="danger" label=${T("Suspend")}
          question=${F("Suspend %s? Sessions, links and uploads end, API tokens are deleted. Nobody is told.", who)}
          path=${`${at}/suspend`} onDone=${reload} />`}
      <${Action} helpDesk label=${T("Reset second factors")}
        question=${F("Delete the second factors of %s? All sessions end, and a mail says so.", who)} path=${`${at}/reset-factors`}
          onDone=${reload} />
      ${primary && !primary.verified && html`<${Action} label=${T("Verify the address")}
        question=${F("Does %s belong to this person for certain?", primary.email)} path=${`${at}/verify`} onDone=${reload} />`}
      <${Action} label=${T("Export the data")} question=${F("Export what is stored about %s? Contents of transfers are left out.", who)}
        path=${`${at}/export`} accept="application/zip"
        onDone=${(/** @type {Response} */ answer) => saveBody(answer, "export.zip")} />
      <${Action} kind="danger" label=${T("Delete the account")} question=${F("Delete %s for good, with the mailbox?", who)}
        path=${`${at}/delete`} onDone=${() => location.assign("/admin/people")} />
    </div></section>`;
}

/** The mails to an address of a person. @param {{address: string}} props */
function MailsTo({ address }) {
  const to = new URLSearchParams({ to: address });
  return html`<h3><a href=${`/admin/mails?${to}`}>${address}</a></h3><${Mails} list=${useList(`/mails?${to}`, "mails")} />`;
}

/** @param {{of: AdminAPI["PersonReport"], who: string}} props */
const About = ({ of: p, who }) => html`<section class="card"><h2>
  ${who} ${p.operator && html`<span class="badge">${T("Operator")}</span>`}
  ${p.suspendedAt && html` <span class="badge warn">${T("Suspended")}</span>`}</h2>
  <${Facts} of=${[
    ["UID", html`<code>${p.uid}</code>`],
    ...p.emails.map((e) => [T("Email address"), html`${e.email} ${!e.verified
      && html`<span class="badge warn">${T("Address not verified")}</span>`}`]),
    [T("Organization"), p.organization && html`<a href=${`/admin/organizations?organization=${p.organization.uid}`}>
      ${p.organization.name ?? p.organization.uid}</a>`], [T("Rights"), p.organization && inWords(p.roles.map(roleName))],
    [T("Created"), when(p.createdAt)], [T("Last sign-in"), when(p.lastLoginAt)], [T("Time zone"), p.timeZone],
    [T("Transfers"), html`<a href=${`/admin/transfers?by=person&search=${p.uid}`}>${T("All transfers of this person")}</a>`],
    [T("Mailbox"), html`<a href=${`/admin/mailboxes?mailbox=${p.uid}`}>${T("Mailbox of this person")}</a>`],
  ]} /></section>`;

/** Names of the ways to sign in. @type {() => Record<string, string>} */
const kinds = () => ({ bcrypt: T("Password"), totp: T("Authenticator app"), webauthn: T("Passkey"), recovery: T("Recovery codes") });

/** @param {{of: any[]}} props */
const Factors = ({ of }) => html`<section class="card stack"><h2>${T("Ways to sign in")}</h2>
  ${of.length === 0 ? html`<p>${T("Only at the organization’s own sign-in.")}</p>`
    : html`<${Table} caption=${T("Ways to sign in")} head=${[T("Type"), T("Name"), T("Created"), T("Last used")]}>
    ${of.map((a) => html`<tr key=${a.type + a.registeredAt}><th scope="row">${kinds()[a.type]}</th><td>${a.name}</td><td>
      ${when(a.registeredAt)}</td><td>${when(a.usedAt)}</td></tr>`)}
  <//>`}</section>`;

/** @param {{of: any[]}} props */
const Sessions = ({ of }) => html`<section class="card stack"><h2>${T("Sessions")}</h2>
  ${of.length === 0 ? html`<p>${T("There are no sessions.")}</p>`
    : html`<${Table} caption=${T("Sessions")} head=${[T("Program"), T("IP address"), T("Created"), T("Last used")]}>
    ${of.map((s) => html`<tr key=${s.sid + s.issuedAt}><th scope="row" class="break">${s.userAgent}</th><td>${s.ip}</td><td>
      ${when(s.issuedAt)}</td><td>${when(s.usedAt)}</td></tr>`)}
  <//>`}</section>`;
