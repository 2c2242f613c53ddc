// /admin/organizations: finds and creates organizations, shows and changes one (?organization=uid).

import { Field, Notice, Problem, Waiting, html } from "../ui.js";
import { F, N, T, bytes, count, month, when } from "../i18n.js";
import { Facts, Table } from "../lists.js";
import { labels, lines } from "../organization-profile.js";
import { Place } from "../places.js";
import { ask, showConsole, useLive } from "./console.js";
import { Find, Found, query } from "./find.js";
import { Limits } from "./limits.js";
import { Members } from "./members.js";
import { Action } from "./reasons.js";

const shown = query.get("organization") ?? "";

showConsole("organizations", () => (shown ? html`<${Organization} uid=${shown} />` : html`<${Organizations} />`));

/** The page of an organization. @param {string} uid */
const page = (uid) => `/admin/organizations?organization=${encodeURIComponent(uid)}`;

/** @type {() => [string, string][]} */
const choices = () => [["name", T("Beginning of the name")], ["hostname", T("Beginning of a hostname")],
  ["organization", T("Uid, hostname or address of a member")]];

/**
 * What stands out about an organization.
 * @param {{of: AdminAPI["Organizations"]["organizations"][number] | AdminAPI["OrganizationReport"], off: boolean}} props `off`: it has no
 *  service for transfers
 */
const Marks = ({ of: o, off }) => html`${o.free && html`<span class="badge">${T("Of the installation")}</span> `}
  ${o.mfaRequired && html`<span class="badge good">${T("Second factor required")}</span> `}${off
    && html`<span class="badge warn">${T("Switched off")}</span>`}`;

function Organizations() {
  const search = (query.get("search") ?? "").trim(), by = query.get("by") ?? "name";
  const row = (/** @type {AdminAPI["Organizations"]["organizations"][number]} */ o) => html`<tr key=${o.uid}><th scope="row" class="break">
    <a href=${page(o.uid)}>${o.name ?? o.uid}</a></th>
    <td class="break">${o.hostname}</td><td>${o.members >= 10_000 ? T("10,000 or more") : count(o.members)}</td><td>
      ${when(o.createdAt)}</td>
    <td><${Marks} of=${o} off=${!o.serviceEnabled} /></td></tr>`;
  return html`<section class="card stack">
    <${Find} page="organizations" choices=${choices()} label=${T("Search for")} />
    <${Found} path=${`/organizations?${new URLSearchParams(search ? { [by]: search } : {})}`} member="organizations"
      caption=${T("Organizations")} row=${row}
      none=${T("Nothing matches.")} head=${[T("Name"), T("Hostname"), T("Members"), T("Created"), T("State")]} />
    <div><${Action} label=${T("Create an organization")} question=${T("It has no members at first.")} path="/organizations"
      onDone=${(/** @type {Response} */ _, /** @type {any} */ made) => location.assign(page(made.uid))}
        read=${(/** @type {any} */ { name, locale, timeZone }) => ({ name, locale, timeZone })}>
      <${Field} label=${T("Name")} name="name" required maxlength="250" autocomplete="off" /><${Place} locale="en_US"
        timeZone="UTC" /><//></div>
  </section>`;
}

/** @param {{uid: string}} props */
function Organization({ uid }) {
  const at = /** @type {const} */ (`/organizations/${encodeURIComponent(uid)}`);
  const { value, error, reload } = useLive(async () => {
    const [report, usage] = await Promise.all([ask("GET", at), ask("GET", `${at}/usage`)]);
    return { o: report.body, usage: usage.body };
  }, [at]);
  const back = html`<p><a href="/admin/organizations">${T("All organizations")}</a></p>`;
  if (!value) return html`${back}<${Waiting} error=${error} />`;
  const { o, usage } = value;
  return html`${back}<${Problem} error=${error} />
    <${About} of=${o} usage=${usage} at=${at} onDone=${reload} />
    <${Hostnames} of=${o} at=${at} onDone=${reload} />
    <${Members} at=${at} number=${o.members} onDone=${reload} />
    <${Limits} of=${o} usage=${usage} at=${at} onDone=${reload} />
    <${Subscriptions} of=${o.subscriptions} at=${at} onDone=${reload} />`;
}

/** @param {{of: AdminAPI["OrganizationReport"], usage: AdminAPI["OrganizationUsage"], at: string, onDone: () => void}} props */
function About({ of: o, usage, at, onDone }) {
  const p = o.profile, label = labels(), names = lines.flat();
  /** What differs from the present profile. @param {Record<string, string>} form */
  const changed = ({ reason: _, ...form }) => Object.fromEntries(Object.entries(form).filter(([name,
    text]) => text !== (name === "externalUid" ? o.externalUid ?? "" : p[name] ?? "")));
  return html`<section class="card stack"><h2>${p.name ?? o.uid} <${Marks} of=${o} off=${!o.limitations.serviceEnabled} /></h2>
    <${Facts} of=${[
      ["UID", html`<code>${o.uid}</code>`], [T("Uid in an external directory"), o.externalUid], [T("Created"), when(o.createdAt)],
      ...names.filter((name) => name !== "name").map((name) => [label[name], p[name]]), [T("Time zone"), p.timeZone],
        [T("Signature under messages"), p.globalSignature],
      [F("Usage in %s", month(usage.month)), bytes(usage.transferBytes)], [T("Currently stored"), bytes(usage.storedBytes)],
      [T("Mailboxes"), html`<a href=${`/admin/mailboxes?by=organization&search=${o.uid}`}>
        ${o.members > 10_000 ? F("at least %s", count(usage.mailboxes)) : count(usage.mailboxes)}</a>`],
      [T("Transfers"), html`<a href=${`/admin/transfers?by=organization&search=${o.uid}`}>${T("All transfers of this organization")}</a>`],
    ]} />
    <p>${o.mfaRequired ? T("Members need a second factor. Without one they can only set it up or leave.")
      : T("Members can sign in with just their password.")}</p>
    <div class="row">
      <${Action} label=${T("Change the profile")} question=${T("What shall the profile say?")} path=${`${at}/set`} onDone=${onDone}
        read=${changed}>
        ${names.map((name) => html`<${Field} key=${name} label=${label[name]} name=${name} defaultValue=${p[name] ?? ""} maxlength="250"
          autocomplete="off" />`)}
        <${Place} locale=${p.locale} timeZone=${p.timeZone} />
        <${Field} label=${T("Signature under messages")} name="globalSignature" as="textarea" rows="3"
          defaultValue=${p.globalSignature ?? ""} />
        <${Field} label=${T("Uid in an external directory")} name="externalUid" defaultValue=${o.externalUid ?? ""} maxlength="250"
          autocomplete="off" /><//>
      ${o.mfaRequired
        ? html`<${Action} label=${T("No longer require it")} question=${T("Shall members sign in with just their password again?")}
          path=${`${at}/set`} read=${() => ({ mfaRequired: false })} onDone=${onDone} />`
        : html`<${Action} label=${T("Require a second factor")}
          question=${T("If you require it, every member gets an email, and sessions without a second factor lose access.")}
            path=${`${at}/set`} read=${() => ({ mfaRequired: true })} onDone=${onDone} />`}
    </div></section>`;
}

/** @param {{of: AdminAPI["OrganizationReport"], at: string, onDone: () => void}} props */
function Hostnames({ of: o, at, onDone }) {
  const { hostname, inactiveHostnames } = o.profile;
  return html`<section class="card stack"><h2>${T("Hostname")}</h2>
    ${hostname ? html`<p><b class="break">${hostname}</b></p>` : html`<p>${T("The organization has no hostname of its own.")}</p>`}
    ${o.claim && html`<${Notice} kind="warn" title=${F("Waiting for the TXT record of %s.", o.claim.hostname)}>
      <p class="break"><code>${o.claim.record}</code> TXT <code>${o.claim.key}</code></p><//>`}
    ${inactiveHostnames.length > 0 && html`<h3>${T("No longer used")}</h3><ul class="list">
      ${inactiveHostnames.map((/** @type {string} */ h) => html`<li key=${h} class="break">${h}</li>`)}</ul>`}
    <div><${Action} label=${T("Change the hostname")}
      question=${T("Which hostname shall the organization have? Its DNS must lead to this installation.")} path=${`${at}/host`}
        onDone=${onDone}
      read=${(/** @type {any} */ form) => ({ hostname: form.hostname.trim() })}>
      <${Notice} kind="warn">${T("Passkeys belong to the hostname where they were made. After the change they work only as a second factor after the password, and only while the former hostname leads here.")}
        ${hostname && o.passkeys > 0
          && html`<p>${N("%d passkey belongs to the present hostname.", "%d passkeys belong to the present hostname.", o.passkeys)}</p>`}
            <//>
      <${Field} label=${T("New hostname")} name="hostname" required maxlength="253" autocapitalize="none" autocomplete="off"
        spellcheck="false" /><//></div></section>`;
}

/** Names of the states of a subscription. @type {() => Record<string, string>} */
const statuses = () => ({ active: T("Active"), trialing: T("Trial"), cancelled: T("Cancelled"), incomplete: T("Not paid yet"),
  past_due: T("Overdue"), incomplete_expired: T("Never paid"), unpaid: T("Unpaid") });

/** @param {{of: AdminAPI["OrganizationReport"]["subscriptions"], at: string, onDone: () => void}} props */
const Subscriptions = ({ of, at, onDone }) => html`<section class="card stack"><h2>${T("Subscriptions")}</h2>
  ${of.length === 0 ? html`<p>${T("There are none.")}</p>`
    : html`<${Table} caption=${T("Subscriptions")} head=${[T("Product"), T("Service"), T("State"), T("Created"), T("Ends")]}>
    ${of.map((s) => html`<tr key=${s.domain + s.product}><th scope="row" class="break">
      ${s.name ?? T("Without a product")}${s.product !== s.name && html`<span class="hint block">${s.product}</span>`}</th>
      <td>${s.domain}</td><td>${statuses()[s.status]}</td><td>${when(s.createdAt)}</td><td>${when(s.expiresAt)}</td></tr>`)}<//>`}
  <div><${Action} label=${T("Set a subscription")} question=${T("A subscription of the same product is replaced.")}
    path=${`${at}/subscribe`} onDone=${onDone}
    read=${(/** @type {any} */ { domain, product, name, status,
      ends }) => ({ domain, product, name, status, ...(ends && { expiresAt: `${ends}T23:59:59Z` }) })}>
    <${Field} label=${T("Service")} name="domain" as="select"><option>skp</option><option>spaces</option><//>
    <${Field} label=${T("Product")} optional name="product" maxlength="250" autocomplete="off" />
    <${Field} label=${T("Name of the product")} optional name="name" maxlength="250" autocomplete="off" />
    <${Field} label=${T("State")} name="status" as="select">
      ${Object.entries(statuses()).map(([value, name]) => html`<option value=${value}>${name}</option>`)}<//>
    <${Field} label=${T("Ends at the end of this day (UTC)")} optional name="ends" type="date" /><//></div></section>`;
