// What is kept for a legal reason (contract 4.30): the list of the organization page and of the console, to begin, export and end holds.

import { Check, Field, html } from "./ui.js";
import { F, N, T, bytes, day, when } from "./i18n.js";
import { Nothing, Table } from "./lists.js";
import { saveBody } from "./downloads.js";

/** What can be held. @type {() => [string, string][]} */
const kinds = () => [["person", T("Person")], ["mailbox", T("Mailbox")], ["transfer", T("Transfer")]];

/** Those that are made by people, and those that rules of organizations make. */
const named = () => [...kinds(), ["retention", T("Rule of the organization")]];

/** @typedef {TransferAPI["Hold"]} Hold */

/**
 * `Act` is a button that asks for a reason and posts to a path below `at`.
 * @param {{of: Hold[], at: string, Act: any, transfers: (uid: string) => string, onChange: () => void}} props
 */
export const Holds = ({ of, at, Act, transfers, onChange }) => html`<section class="card stack wide"><h2>${T("Legal holds")}</h2>
  <p class="hint">${T("Held people, mailboxes and transfers are deleted as ever. A copy and the files stay until the hold ends.")}</p>
  <div><${Act} label=${T("Add a hold")} question=${T("What must be kept, and for which case?")} path=${at} onDone=${onChange}
    read=${(/** @type {any} */ v) => ({ kind: v.kind, subject: v.subject.trim(), case: v.case, notice: v.notice === "on",
      until: v.until ? new Date(v.until).toISOString() : null })}>
    <${Field} label=${T("Kind")} name="kind" as="select">
      ${kinds().map(([kind, name]) => html`<option value=${kind}>${name}</option>`)}<//>
    <${Field} label=${T("Address of the person, or uid of the transfer")} name="subject" required maxlength="254" spellcheck="false"
      autocomplete="off" />
    <${Field} label=${T("Case")} name="case" required maxlength="120" autocomplete="off" />
    <${Field} label=${T("Ends by itself on (optional)")} name="until" type="date" />
    <${Check} label=${T("Tell the people concerned that it is kept")} name="notice" />
  <//></div>
  ${of.length === 0 ? html`<${Nothing} sentence=${T("Nothing is held.")} />`
  : html`<${Table} caption=${T("Legal holds")} head=${[T("Case"), T("Held"), T("Time"), T("Kept"), T("Action")]}>
    ${of.map((h) => html`<${Row} key=${h.uid} of=${h} at=${`${at}/${h.uid}`} ...${{ Act, transfers, onChange }} />`)}<//>`}
</section>`;

/** @param {{of: Hold, at: string, Act: any, transfers: (uid: string) => string, onChange: () => void}} props */
const Row = ({ of: h, at, Act, transfers, onChange }) => html`<tr>
  <th scope="row" class="break">${h.case}<span class="hint block">${h.reason}</span></th>
  <td class="break">${Object.fromEntries(named())[h.kind]}<span class="hint block">
    ${h.kind === "transfer" ? html`<a href=${transfers(h.subject)}>${h.subject}</a>` : h.email ?? h.subject}</span></td>
  <td>${when(h.createdAt)}<span class="hint block">${h.until ? F("until %s", day(h.until)) : T("no end")}</span></td>
  <td>${N("%d row", "%d rows", h.rows)}<span class="hint block">${N("%d file", "%d files", h.files)}
    ${h.bytes > 0 && ` · ${bytes(h.bytes)}`}</span></td>
  <td><div class="row tight">
    <${Act} label=${T("Export")} question=${T("This downloads who, when and how much, without contents. It is recorded.")}
      path=${`${at}/export`} accept="application/x-ndjson" onDone=${(/** @type {Response} */ answer) => saveBody(answer, "kept.jsonl")} />
    <${Act} label=${T("End")} kind="danger" question=${T("End this hold? What it alone has kept is deleted for good.")}
      path=${`${at}/end`} onDone=${onChange} />
  </div></td></tr>`;
