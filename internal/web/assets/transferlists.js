// What the console and the organization page show of transfers: state, who sent it to whom, size. Never their contents.

import { html } from "./ui.js";
import { F, N, T, bytes, count, when } from "./i18n.js";
import { Facts, Table } from "./lists.js";

/** Names of the states. @type {() => Record<string, string>} */
export const states = () => ({ delivered: T("Delivered"), accessed: T("Opened"), expired: T("Expired"), revoked: T("Revoked") });

/** Names of the kinds. @type {() => Record<string, string>} */
export const kinds = () => ({ p2p: T("Sent to people"), drop: T("Link"), mailbox: T("To a mailbox") });

/** What the check for malware said of the worst file. @param {{of: string | null}} props */
function Malware({ of }) {
  const said = { scanning: T("Being checked for malware"), infected: T("Malware found"), partly: T("Checked only in part"),
    failed: T("The check for malware has not worked yet.") }[of ?? ""];
  return said ? html`<span class=${`badge ${of === "infected" ? "bad" : "warn"}`}>${said}</span>` : null;
}

/** The heads of the columns of `row`. */
export const head = () => [T("Transfer"), T("From"), T("To"), T("Files"), T("State")];

/**
 * A transfer of a list as a row.
 * @param {TransferAPI["OrganizationTransferList"]["transfers"][number] | AdminAPI["Transfers"]["transfers"][number]} t
 * @param {unknown} link the cell of its time, as a link to it
 */
export const row = (t, link) => html`<tr key=${t.uid}>
  <th scope="row">${link}<span class="hint block">${kinds()[t.type]}</span></th>
  <td class="break">${t.sender.email || t.sender.name}</td>
  <td class="break">${t.recipient ?? T("Anyone with the link")}${t.recipients > 1
    && html`<span class="hint block">${F("and %s more", count(t.recipients - 1))}</span>`}</td>
  <td>${N("%d file, %s", "%d files, %s", t.files, bytes(t.bytes))}</td>
  <td>${states()[t.state]} <${Malware} of=${t.malwareStatus} /></td></tr>`;

/** Whether a transfer can be extended, and revoked. @param {TransferAPI["OrganizationTransfer"] | AdminAPI["TransferReport"]} t */
export const may = (t) => ({ extend: !t.pinned && (t.state === "expired" ? Boolean(t.extendableUntil) : t.state !== "revoked"),
  revoke: !t.endedAt });

/**
 * A transfer with its recipients. `Person` shows a person: `uid`, null without an account, and the words.
 * @param {{of: TransferAPI["OrganizationTransfer"] | AdminAPI["TransferReport"], Person: (props: any) => any}} props
 */
export function Report({ of: t, Person }) {
  const protections = { none: T("The link is enough"), password: T("Password"),
    recipientAuthentication: T("A code sent to each recipient") };
  return html`<section class="card"><h2>${kinds()[t.type]}, ${when(t.createdAt)}</h2>
      <${Facts} of=${[
        ["UID", html`<code>${t.uid}</code>`], [T("State"), html`${states()[t.state]} <${Malware} of=${t.malwareStatus} />`],
        [T("From"), html`<${Person} uid=${t.sender.uid}>${t.sender.email || t.sender.name || "–"}<//>`],
        [T("Uses the volume of"), html`<${Person} uid=${t.owner.email && t.owner.uid}>${t.owner.email ?? t.owner.uid}<//>`],
        [T("Organization"), t.organization.name ?? t.organization.uid],
        [T("Files"), N("%d file, %s", "%d files, %s", t.files, bytes(t.bytes))], [T("Protection"), protections[t.protection]],
        [T("Downloads by each recipient"), t.maxDownloads > 0 && count(t.maxDownloads)],
          [T("Downloads by all recipients together"), t.maxTotalDownloads > 0 && count(t.maxTotalDownloads)],
        [T("First opened"), when(t.accessedAt)], [T("Available until"), t.pinned ? T("Kept by the recipient") : when(t.expiresAt)],
        [T("Can be extended until"), when(t.extendableUntil)], [T("Contents erased"), when(t.endedAt)],
      ]} />
    </section>
    <section class="card stack wide"><h2>${T("Recipients")}</h2>
      <${Table} caption=${T("Recipients")} head=${[T("To"), T("First opened"), T("Downloads"), T("Last download")]}>
        ${t.recipients.map((r, i) => html`<tr key=${i}>
          <th scope="row" class="break"><${Person} uid=${r.uid}>${r.email ?? T("Anyone with the link")}<//>
            ${r.undelivered && html` <span class="badge bad">${T("The mail did not arrive")}</span>`}</th>
          <td>${when(r.accessedAt)}</td><td>${count(r.downloads)}</td><td>${when(r.downloadedAt)}</td></tr>`)}
      <//></section>`;
}
