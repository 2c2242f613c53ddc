// /admin/mailboxes: finds mailboxes and groups, shows a mailbox (?mailbox=uid), ends unfinished uploads of strangers.

import { Field, Notice, Problem, Waiting, html } from "../ui.js";
import { F, N, T, bytes, list as inWords, when } from "../i18n.js";
import { Facts, Table } from "../lists.js";
import { ask, showConsole, useLive } from "./console.js";
import { Find, Found, query } from "./find.js";
import { Action } from "./reasons.js";

const shown = query.get("mailbox") ?? "";

showConsole("mailboxes", () => (shown ? html`<${Mailbox} uid=${shown} />` : html`<${Mailboxes} />`));

/** @type {() => [string, string][]} */
const choices = () => [["link", T("Beginning of the link")], ["person", T("Person (uid or address)")],
  ["organization", T("Organization (uid or hostname)")]];

/** @param {number} number @param {number} size */
const unfinished = (number, size) => (number > 0 ? N("%2$s in %1$d upload", "%2$s in %1$d uploads", number, bytes(size)) : "");

function Mailboxes() {
  const search = (query.get("search") ?? "").trim(), by = query.get("by") ?? "link";
  const row = (/** @type {AdminAPI["Mailboxes"]["mailboxes"][number]} */ m) => html`<tr key=${m.kind + m.uid}>
    <th scope="row" class="break">${m.kind === "mailbox"
      ? html`<a href=${`/admin/mailboxes?mailbox=${m.uid}`}>${m.link ?? m.email ?? m.uid}</a>` : m.link ?? m.name}
      ${m.absent && html` <span class="badge warn">${T("Absent")}</span>`}</th>
    <td class="break">${m.kind === "mailbox" ? m.email : N("Group of %d mailbox", "Group of %d mailboxes", m.members)}<span
      class="hint block">${m.name}</span></td>
    <td>${m.organization?.name}</td><td>${unfinished(m.reservations, m.bytes)}</td></tr>`;
  return html`<section class="card stack">
    <${Find} page="mailboxes" choices=${choices()} label=${T("Search for")} />
    <${Found} path=${`/mailboxes?${new URLSearchParams(search ? { [by]: search } : {})}`} member="mailboxes"
      caption=${T("Mailboxes and groups")} row=${row}
      none=${T("Nothing matches.")} head=${[T("Link"), T("Owner"), T("Organization"), T("Unfinished uploads of strangers")]} />
  </section>`;
}

/** @param {{uid: string}} props */
function Mailbox({ uid }) {
  const at = /** @type {const} */ (`/mailboxes/${encodeURIComponent(uid)}`);
  const { value: m, error, reload } = useLive(async () => (await ask("GET", at)).body, [at]);
  const back = html`<p><a href="/admin/mailboxes">${T("All mailboxes")}</a></p>`;
  if (!m) return html`${back}${error?.status === 404 ? html`<${None} at=${at} onDone=${reload} />` : html`<${Waiting} error=${error} />`}`;
  return html`${back}<${Problem} error=${error} />
    <section class="card stack"><h2>${m.name} ${m.absent && html`<span class="badge warn">${T("Absent")}</span>`}
      ${m.suspended && html` <span class="badge warn">${T("Suspended")}</span>`}</h2>
      ${m.volumeExceeded && html`<${Notice} kind="warn">${T("The volume is used up.")}<//>`}
      <${Facts} of=${[
        ["UID", html`<code>${m.uid}</code>`], [T("Link"), html`<a href=${m.page}>${m.page}</a>`],
        [T("Owner"), html`<a href=${`/admin/people?person=${m.uid}`}>${m.email}</a>`],
          [T("Groups"), m.groups.length > 0 && inWords(m.groups.map((g) => g.name))],
        [T("Volume used this month"), m.uploadLimitBytes === null ? bytes(m.uploadBytes)
          : F("%s of %s", bytes(m.uploadBytes), bytes(m.uploadLimitBytes))],
        [T("Transfers"), html`<a href=${`/admin/transfers?by=mailbox&search=${m.uid}`}>${T("All transfers")}</a>`],
      ]} />
      <div class="row">${m.suspended
        ? html`<${Action} label=${T("Reactivate")} question=${F("End the suspension of %s?", m.name)} path=${`${at}/reactivate`}
          onDone=${reload} />`
        : html`<${Action} kind="danger" label=${T("Suspend")} question=${F("Suspend the mailbox of %s? Uploads to it end.", m.name)}
          path=${`${at}/suspend`} onDone=${reload} />`}</div>
    </section>
    <${Unfinished} of=${m} at=${at} onDone=${reload} />`;
}

/** The open reservations of strangers. @param {{of: AdminAPI["MailboxReport"], at: string, onDone: () => void}} props */
const Unfinished = ({ of: m, at, onDone }) => html`<section class="card stack"><h2>${T("Unfinished uploads of strangers")}</h2>
  ${m.reservations === 0 ? html`<p>${T("There are none.")}</p>` : html`<p>${unfinished(m.reservations, m.reservationsBytes)}</p>
    <${Table} caption=${T("Unfinished uploads of strangers")} head=${[T("Begun"), T("Size"), T("Action")]}>
      ${m.open.map((r) => html`<tr key=${r.uid}><th scope="row">${when(r.createdAt)}</th><td>${bytes(r.bytes)}</td>
        <td><${Action} kind="danger" label=${T("End")} question=${T("End this upload and erase what has arrived?")}
          path=${`${at}/end-reservations`}
          read=${() => ({ reservation: r.uid })} onDone=${onDone} /></td></tr>`)}<//>
    <div><${Action} kind="danger" label=${T("End all")}
      question=${T("End all unfinished uploads to this mailbox and erase what has arrived?")} path=${`${at}/end-reservations`}
        onDone=${onDone} /></div>`}
</section>`;

/** A person without a mailbox. @param {{at: string, onDone: () => void}} props */
const None = ({ at, onDone }) => html`<section class="card stack"><p>${T("This person has no mailbox.")}</p>
  <div><${Action} label=${T("Create a mailbox")} question=${T("Create a mailbox for this person?")} path=${`${at}/create`}
    read=${(/** @type {any} */ { link }) => ({ link: link.trim() })} onDone=${onDone}>
    <${Field} label=${T("Link, may be empty")} name="link" maxlength="100" autocomplete="off" /><//></div></section>`;
