// /admin/audit: who did what in the installation: filter, table and lines of JSON to save.

import { Button, Field, Problem, Waiting, html, useAction } from "../ui.js";
import { T } from "../i18n.js";
import { AuditList } from "../auditlist.js";
import { named } from "../auditwords.js";
import { saveBody } from "../downloads.js";
import { Choice, Filters, Listed, Nothing, periods, useSince } from "../lists.js";
import { usePlace } from "../place.js";
import { ask, showConsole, useList } from "./console.js";

/** What actions begin with, and names for it. @type {() => [string, string][]} */
const kinds = () => [["", T("Everything")], ["session.", T("Sessions")], ["person.", T("Accounts")], ["organization.", T("Organization")],
  ["member.", T("Members")],
  ["mailbox.", T("Mailboxes")], ["transfer.", T("Transfers")], ["token.", T("API tokens")], ["webhook.", T("Webhooks")],
    ["console.", T("Console")], ["operator.", T("Operators")]];

showConsole("audit", () => {
  const [{ action, period, person }, go] = usePlace("/admin/audit", { action: "", period: "", person: "" });
  const since = useSince(period);
  const query = new URLSearchParams({ ...(action && { action }), ...(since && { since }), ...(person && { person }) });
  const list = useList(`/audit?${query}`, "entries");
  const save = useAction(async (format, type) => {
    query.set("format", format);
    const { response } = await ask("GET", `/audit?${query}`, { accept: type });
    await saveBody(response, `audit.${format}`);
  });
  return html`<section class="card stack">
    <${Filters} values=${{ person }} onSearch=${go} refused=${list.error}>
      <${Choice} label=${T("Show")} value=${action} choices=${kinds()}
        onChange=${(/** @type {string} */ chosen) => go({ action: chosen })} />
      <${Choice} label=${T("Time")} value=${period} choices=${periods()}
        onChange=${(/** @type {string} */ chosen) => go({ period: chosen })} />
      <${Field} label=${T("Person (uid)")} name="person" type="search" spellcheck="false" defaultValue=${person} />
    <//>
    <${Entries} list=${list} />
    <${Problem} error=${save.error} />
    <div class="row">
      <${Button} icon="download" busy=${save.busy} onClick=${() => save.run("csv", "text/csv")}>${T("Download as a table (CSV)")}<//>
      <${Button} icon="download" busy=${save.busy} onClick=${() => save.run("jsonl", "application/x-ndjson")}>
        ${T("Download as lines of JSON")}<//>
    </div>
  </section>`;
});

/** An entry as the list shows it. @param {AdminAPI["AuditEntry"]} e */
const shown = (e) => ({ id: e.id, at: e.at, facts: [e.actor?.name && e.actor.email, e.address],
  told: { action: e.action, role: e.role, actor: named(e.actor), target: named(e.target), object: e.object, details: e.details } });

function Entries({ list }) {
  if (!list.items) return html`<${Waiting} error=${list.error} />`;
  return html`<${Problem} error=${list.error} />
    ${list.items.length === 0 ? html`<${Nothing} sentence=${T("Nothing matches.")} />`
    : html`<${AuditList} entries=${list.items.map(shown)} />`}
    <${Listed} of=${list} />`;
}
