// /admin/transfers: finds transfers, and shows, extends and revokes one (?transfer=uid). Never their contents.

import { Field, Problem, Waiting, html } from "../ui.js";
import { F, N, T, bytes, count, when } from "../i18n.js";
import { Table, ask, showConsole, useLive } from "./console.js";
import { Facts, Find, Found, query } from "./find.js";
import { Action } from "./reasons.js";

const search = (query.get("search") ?? "").trim(), by = query.get("by") ?? "";
const shown = by === "transfer" ? search : query.get("transfer") ?? "";

showConsole("transfers", () => (shown ? html`<${Transfer} uid=${shown} />` : html`<${Transfers} />`));

/** @type {() => [string, string][]} */
const choices = () => [["person", T("Person (uid or address)")], ["mailbox", T("Mailbox (uid or address of its owner)")],
  ["organization", T("Organization (uid or hostname)")], ["transfer", T("Transfer (uid)")]];

/** Names of the states and of the kinds. @type {() => Record<string, string>} */
const states = () => ({ delivered: T("Delivered"), accessed: T("Opened"), expired: T("Expired"), revoked: T("Revoked") });
const kinds = () => ({ p2p: T("Sent to people"), drop: T("Link"), mailbox: T("To a mailbox") });

function Transfers() {
  const state = query.get("state") ?? "";
  const terms = new URLSearchParams({ ...(search && { [by || "person"]: search }), ...(state && { state }) });
  const row = (/** @type {any} */ t) => html`<tr key=${t.uid}>
    <th scope="row"><a href=${`/admin/transfers?transfer=${t.uid}`}>${when(t.createdAt)}</a><span class="hint block">${kinds()[t.type]}</span></th>
    <td class="break">${t.sender.email || t.sender.name}</td>
    <td class="break">${t.recipient ?? T("Anyone with the link")}${t.recipients > 1 && html`<span class="hint block">${F("and %s more", count(t.recipients - 1))}</span>`}</td>
    <td>${N("%d file, %s", "%d files, %s", t.files, bytes(t.bytes))}</td>
    <td>${states()[t.state]} <${Malware} of=${t.malwareStatus} /></td></tr>`;
  return html`<section class="card stack">
    <${Find} page="transfers" choices=${choices()} label=${T("Search for")}>
      <${Field} as="select" label=${T("State")} name="state"><option value="">${T("All")}</option>
        ${Object.entries(states()).map(([value, name]) => html`<option value=${value} selected=${value === state}>${name}</option>`)}<//><//>
    <${Found} path=${`/transfers?${terms}`} member="transfers" caption=${T("Transfers")} row=${row} none=${T("Nothing matches.")}
      head=${[T("Transfer"), T("From"), T("To"), T("Files"), T("State")]} />
  </section>`;
}

/** What the check for malware said of the worst file. @param {{of: string | null}} props */
function Malware({ of }) {
  const said = { scanning: T("Being checked for malware"), infected: T("Malware found"), partly: T("Checked only in part"), failed: T("The check for malware has not worked yet.") }[of ?? ""];
  return said ? html`<span class=${`badge ${of === "infected" ? "bad" : "warn"}`}>${said}</span>` : null;
}

/** A link to the page of a person; the words alone without an account. @param {{uid: string | null, children?: any}} props */
const PersonLink = ({ uid, children }) => (uid ? html`<a href=${`/admin/people?person=${uid}`}>${children}</a>` : html`${children}`);

/** @param {{uid: string}} props */
function Transfer({ uid }) {
  const at = `/transfers/${encodeURIComponent(uid)}`;
  const { value: t, error, reload } = useLive(async () => (await ask("GET", at)).body, [at]);
  const back = html`<p><a href="/admin/transfers">${T("All transfers")}</a></p>`;
  if (!t) return html`${back}<${Waiting} error=${error} />`;
  const extendable = t.state === "expired" ? Boolean(t.extendableUntil) : t.state !== "revoked";
  const revocable = !t.endedAt;
  const protections = { none: T("The link is enough"), password: T("Password"), recipientAuthentication: T("A code sent to each recipient") };
  return html`${back}<${Problem} error=${error} />
    <section class="card"><h2>${kinds()[t.type]}, ${when(t.createdAt)}</h2>
      <${Facts} of=${[
        ["UID", html`<code>${t.uid}</code>`], [T("State"), html`${states()[t.state]} <${Malware} of=${t.malwareStatus} />`],
        [T("From"), html`<${PersonLink} uid=${t.sender.uid}>${t.sender.email || t.sender.name || "–"}<//>`],
        [T("Uses the volume of"), html`<${PersonLink} uid=${t.owner.email && t.owner.uid}>${t.owner.email ?? t.owner.uid}<//>`],
        [T("Organization"), t.organization.name ?? t.organization.uid],
        [T("Files"), N("%d file, %s", "%d files, %s", t.files, bytes(t.bytes))], [T("Protection"), protections[t.protection]],
        [T("Downloads by each recipient"), t.maxDownloads > 0 && count(t.maxDownloads)], [T("Downloads by all recipients together"), t.maxTotalDownloads > 0 && count(t.maxTotalDownloads)],
        [T("First opened"), when(t.accessedAt)], [T("Available until"), t.pinned ? T("Kept by the recipient") : when(t.expiresAt)],
        [T("Can be extended until"), when(t.extendableUntil)], [T("Contents erased"), when(t.endedAt)],
      ]} />
    </section>
    <section class="card stack"><h2>${T("Recipients")}</h2>
      <${Table} caption=${T("Recipients")} head=${[T("To"), T("First opened"), T("Downloads"), T("Last download")]}>
        ${t.recipients.map((/** @type {any} */ r, /** @type {number} */ i) => html`<tr key=${i}>
          <th scope="row" class="break"><${PersonLink} uid=${r.uid}>${r.email ?? T("Anyone with the link")}<//>
            ${r.undelivered && html` <span class="badge bad">${T("The mail did not arrive")}</span>`}</th>
          <td>${when(r.accessedAt)}</td><td>${count(r.downloads)}</td><td>${when(r.downloadedAt)}</td></tr>`)}
      <//></section>
    ${(extendable || revocable || t.hasReceipt) && html`<section class="card stack"><h2>${T("Actions")}</h2><div class="row">
      ${extendable && !t.pinned && html`<${Action} label=${T("Extend")} question=${T("For how long shall this transfer be available?")} path=${`${at}/extend`} onDone=${reload}
        read=${(/** @type {any} */ { days }) => ({ days: Number(days) })}>
        <${Field} label=${T("Days from now")} name="days" type="number" min="1" max="3650" required defaultValue="14" /><//>`}
      ${t.malwareStatus && revocable && html`<${Action} label=${T("Check for malware again")} question=${T("Check all files of this transfer again?")} path=${`${at}/inspect`} onDone=${reload} />`}
      ${t.hasReceipt && html`<${Action} kind="danger" label=${T("Erase the receipt")} question=${T("Erase the receipts of this transfer, all but their hashes? Copies that people have still verify.")}
        path=${`${at}/erase-receipt`} onDone=${reload} />`}
      ${revocable && html`<${Action} kind="danger" label=${T("Revoke")} question=${T("End this transfer for good and erase its files?")} path=${`${at}/revoke`} onDone=${reload} />`}
    </div></section>`}`;
}
