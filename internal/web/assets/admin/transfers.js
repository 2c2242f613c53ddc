// /admin/transfers: finds transfers, and shows, extends and revokes one (?transfer=uid). Never their contents.

import { Field, Problem, Waiting, html } from "../ui.js";
import { T, when } from "../i18n.js";
import { Report, head, may, row, states } from "../transferlists.js";
import { ask, showConsole, useLive } from "./console.js";
import { Find, Found, query } from "./find.js";
import { Action } from "./reasons.js";

const search = (query.get("search") ?? "").trim(), by = query.get("by") ?? "";
const shown = by === "transfer" ? search : query.get("transfer") ?? "";

showConsole("transfers", () => (shown ? html`<${Transfer} uid=${shown} />` : html`<${Transfers} />`));

/** @type {() => [string, string][]} */
const choices = () => [["person", T("Person (uid or address)")], ["mailbox", T("Mailbox (uid or address of its owner)")],
  ["organization", T("Organization (uid or hostname)")], ["transfer", T("Transfer (uid)")]];

function Transfers() {
  const state = query.get("state") ?? "";
  const terms = new URLSearchParams({ ...(search && { [by || "person"]: search }), ...(state && { state }) });
  return html`<section class="card stack">
    <${Find} page="transfers" choices=${choices()} label=${T("Search for")}>
      <${Field} as="select" label=${T("State")} name="state"><option value="">${T("All")}</option>
        ${Object.entries(states()).map(([value, name]) => html`<option value=${value} selected=${value === state}>${name}</option>`)}<//>
          <//>
    <${Found} path=${`/transfers?${terms}`} member="transfers" caption=${T("Transfers")} none=${T("Nothing matches.")} head=${head()}
      row=${(/** @type {AdminAPI["Transfers"]["transfers"][number]} */ t) => row(t,
        html`<a href=${`/admin/transfers?transfer=${t.uid}`}>${when(t.createdAt)}</a>`)} />
  </section>`;
}

/** A link to the page of a person; the words alone without an account. @param {{uid: string | null, children?: any}} props */
const PersonLink = ({ uid, children }) => (uid ? html`<a href=${`/admin/people?person=${uid}`}>${children}</a>` : html`${children}`);

/** @param {{uid: string}} props */
function Transfer({ uid }) {
  const at = /** @type {const} */ (`/transfers/${encodeURIComponent(uid)}`);
  const { value: t, error, reload } = useLive(async () => (await ask("GET", at)).body, [at]);
  const back = html`<p><a href="/admin/transfers">${T("All transfers")}</a></p>`;
  if (!t) return html`${back}<${Waiting} error=${error} />`;
  const { extend, revoke } = may(t);
  return html`${back}<${Problem} error=${error} />
    <${Report} of=${t} Person=${PersonLink} />
    ${(extend || revoke || t.hasReceipt) && html`<section class="card stack"><h2>${T("Actions")}</h2><div class="row">
      ${extend && html`<${Action} label=${T("Extend")} question=${T("For how long shall this transfer be available?")}
        path=${`${at}/extend`} onDone=${reload}
        read=${(/** @type {any} */ { days }) => ({ days: Number(days) })}>
        <${Field} label=${T("Days from now")} name="days" type="number" min="1" max="3650" required defaultValue="14" /><//>`}
      ${t.malwareStatus && revoke && html`<${Action} label=${T("Check for malware again")}
        question=${T("Check all files of this transfer again?")} path=${`${at}/inspect`} onDone=${reload} />`}
      ${t.hasReceipt && html`<${Action} kind="danger" label=${T("Erase the receipt")}
        question=${T("Erase the receipts of this transfer, all but their hashes? Copies that people have still verify.")}
        path=${`${at}/erase-receipt`} onDone=${reload} />`}
      ${revoke && html`<${Action} kind="danger" label=${T("Revoke")} question=${T("End this transfer for good and erase its files?")}
        path=${`${at}/revoke`} onDone=${reload} />`}
    </div></section>`}`;
}
