// /admin/people: finds people, and shows and changes one (?person=uid).

import { Button, Field, Problem, Waiting, html } from "../ui.js";
import { F, T, bytes, list as inWords, when } from "../i18n.js";
import { roleName } from "../roles.js";
import { Nothing, Table, ask, showConsole, useList, useLive } from "./console.js";
import { Action } from "./reasons.js";

const query = new URLSearchParams(location.search);

showConsole("people", () => (query.get("person") ? html`<${Person} uid=${query.get("person")} />` : html`<${People} />`));

/** The page of a person. @param {string} uid */
const page = (uid) => `/admin/people?person=${encodeURIComponent(uid)}`;

function People() {
  const search = query.get("search") ?? "", by = query.get("by") === "name" ? "name" : "email";
  const { items, error, hasMore, next } = useList(`/people?${new URLSearchParams({ by, search })}`, "people");
  return html`<form class="filters" role="search" method="get" action="/admin/people">
      <${Field} as="select" label=${T("Search by")} name="by">
        <option value="email" selected=${by === "email"}>${T("Email address")}</option>
        <option value="name" selected=${by === "name"}>${T("Name")}</option><//>
      <${Field} label=${T("Begins with")} name="search" type="search" maxlength="255" defaultValue=${search} />
      <${Button} type="submit" kind="primary">${T("Search")}<//>
    </form>
    <${Problem} error=${error} />
    ${!items && html`<${Waiting} />`}
    ${items?.length === 0 && html`<${Nothing} sentence=${T("Nobody was found.")} />`}
    ${items?.length > 0 && html`<${Table} caption=${T("People")} head=${[T("Email address"), T("Name"), T("Organization"), T("Last sign-in"), T("State")]}>
      ${items.map((/** @type {any} */ p) => html`<tr key=${p.uid}><th scope="row"><a href=${page(p.uid)}>${p.email}</a></th>
        <td>${p.name}</td><td>${p.organization?.name}</td><td>${when(p.lastLoginAt)}</td><td><${Marks} of=${p} /></td></tr>`)}
    <//>`}
    ${hasMore && html`<p class="row center"><${Button} busy=${next.busy} onClick=${next.run}>${T("Show more")}<//></p>`}`;
}

/** What stands out about a person. @param {{of: any}} props */
const Marks = ({ of: p }) => html`${!p.verified && html`<span class="badge warn">${T("Address not verified")}</span> `}
  ${p.hasFactor && html`<span class="badge good">${T("Second factor")}</span> `}${p.operator && html`<span class="badge">${T("Operator")}</span>`}`;

/** @param {{uid: string}} props */
function Person({ uid }) {
  const at = `/people/${encodeURIComponent(uid)}`;
  const { value: p, error, reload } = useLive(async () => (await ask("GET", at)).body, [at]);
  const back = html`<p><a href="/admin/people">${T("All people")}</a></p>`;
  if (!p) return html`${back}<${Waiting} error=${error} />`;
  const primary = p.emails.find((/** @type {any} */ e) => e.primary), who = p.name || primary?.email || p.uid;
  return html`${back}<${Problem} error=${error} />
    <${Facts} of=${p} who=${who} />
    <${Factors} of=${p.authenticators} />
    <${Sessions} of=${p.sessions} />
    <section class="card stack"><h2>${T("Limits")}</h2>
      <p>${p.uploadVolumeBytes === null ? T("The monthly volume is the one of the server’s settings.") : F("%s can be uploaded in a month.", bytes(p.uploadVolumeBytes))}</p>
      <div class="row"><${Action} label=${T("Change the limit")} question=${F("How much may %s upload in a month?", who)} path=${`${at}/limits`} onDone=${reload}
        read=${(/** @type {any} */ { volume }) => ({ uploadVolumeGb: volume === "" ? null : Number(volume) })}>
        <${Field} label=${T("Monthly volume, in GB")} hint=${T("Empty: the server’s settings apply.")} name="volume" type="number" min="0" max="1000000000" step="any"
          defaultValue=${p.uploadVolumeBytes === null ? "" : p.uploadVolumeBytes / 1e9} /><//></div></section>
    <section class="card stack"><h2>${T("Actions")}</h2><div class="row">
      <${Action} label=${T("End all sessions")} question=${F("End all sessions of %s and delete the API tokens?", who)} path=${`${at}/end-sessions`} onDone=${reload} />
      <${Action} label=${T("Reset second factors")} question=${F("Delete the second factors of %s? All sessions end, and a mail says so.", who)} path=${`${at}/reset-factors`} onDone=${reload} />
      ${primary && !primary.verified && html`<${Action} label=${T("Verify the address")} question=${F("Does %s belong to this person for certain?", primary.email)} path=${`${at}/verify`} onDone=${reload} />`}
      <${Action} kind="danger" label=${T("Delete the account")} question=${F("Delete %s for good, with the mailbox?", who)} path=${`${at}/delete`} onDone=${() => location.assign("/admin/people")} />
    </div></section>`;
}

/** @param {{of: any, who: string}} props */
function Facts({ of: p, who }) {
  const facts = [
    ["UID", html`<code>${p.uid}</code>`],
    ...p.emails.map((/** @type {any} */ e) => [T("Email address"), html`${e.email} ${!e.verified && html`<span class="badge warn">${T("Address not verified")}</span>`}`]),
    ...(p.organization ? [[T("Organization"), p.organization.name ?? p.organization.uid], [T("Rights"), inWords(p.roles.map(roleName))]] : []),
    [T("Created"), when(p.createdAt)], ...(p.lastLoginAt ? [[T("Last sign-in"), when(p.lastLoginAt)]] : []), [T("Time zone"), p.timeZone],
  ];
  return html`<section class="card"><h2>${who} ${p.operator && html`<span class="badge">${T("Operator")}</span>`}</h2>
    <dl class="facts">${facts.map(([name, text]) => html`<dt>${name}</dt><dd class="break">${text}</dd>`)}</dl></section>`;
}

/** Names of the ways to sign in. @type {() => Record<string, string>} */
const kinds = () => ({ bcrypt: T("Password"), totp: T("Authenticator app"), webauthn: T("Passkey"), recovery: T("Recovery codes") });

/** @param {{of: any[]}} props */
const Factors = ({ of }) => html`<section class="card stack"><h2>${T("Ways to sign in")}</h2>
  ${of.length === 0 ? html`<p>${T("Only at the organization’s own sign-in.")}</p>` : html`<${Table} caption=${T("Ways to sign in")} head=${[T("Type"), T("Name"), T("Created"), T("Last used")]}>
    ${of.map((a) => html`<tr key=${a.type + a.registeredAt}><th scope="row">${kinds()[a.type]}</th><td>${a.name}</td><td>${when(a.registeredAt)}</td><td>${when(a.usedAt)}</td></tr>`)}
  <//>`}</section>`;

/** @param {{of: any[]}} props */
const Sessions = ({ of }) => html`<section class="card stack"><h2>${T("Sessions")}</h2>
  ${of.length === 0 ? html`<p>${T("There are no sessions.")}</p>` : html`<${Table} caption=${T("Sessions")} head=${[T("Program"), T("IP address"), T("Created"), T("Last used")]}>
    ${of.map((s) => html`<tr key=${s.sid + s.issuedAt}><th scope="row" class="break">${s.userAgent}</th><td>${s.ip}</td><td>${when(s.issuedAt)}</td><td>${when(s.usedAt)}</td></tr>`)}
  <//>`}</section>`;
