// /admin/jobs: background jobs, running and ending one.

import { Ask, Problem, Waiting, announce, html, useAction, useState } from "../ui.js";
import { F, T, when } from "../i18n.js";
import { Choice, Listed, Nothing, Table } from "../lists.js";
import { usePlace } from "../place.js";
import { showConsole, useChange, useList } from "./console.js";
import { Change } from "./reasons.js";

/** Names of the states of a job. @type {() => Record<string, string>} */
const states = () => ({
  available: T("due"), scheduled: T("later"), retryable: T("failed, will run again"), running: T("running"), pending: T("waiting"),
  completed: T("done"), cancelled: T("cancelled"), discarded: T("given up"),
});

showConsole("jobs", () => {
  const [{ state }, go] = usePlace("/admin/jobs", { state: "" });
  const list = useList(`/jobs?${new URLSearchParams(state ? { state } : {})}`, "jobs");
  return html`<section class="card stack">
    <div class="filters"><${Choice} label=${T("State")} value=${state} onChange=${(/** @type {string} */ chosen) => go({ state: chosen })}
      choices=${[["", T("All")], ...Object.entries(states())]} /></div>
    <${Jobs} list=${list} />
  </section>`;
});

/** @param {{list: import("../lists.js").List<AdminAPI["Job"]>}} props */
function Jobs({ list }) {
  const { change, dialog } = useChange();
  const [asked, ask] = useState(0);
  const act = useAction(async (/** @type {number} */ id, /** @type {"retry" | "cancel"} */ verb) => {
    await change("POST", `/jobs/${id}/${verb}`);
    announce(verb === "retry" ? T("The job runs again.") : T("The job was ended."));
    list.reload();
  });
  if (!list.items) return html`<${Waiting} error=${list.error} />`;
  const ended = (/** @type {AdminAPI["Job"]} */ j) => ["completed", "cancelled", "discarded"].includes(j.state);
  const row = (/** @type {AdminAPI["Job"]} */ j) => html`<tr key=${j.id}>
    <th scope="row"><code>${j.kind}</code><span class="hint block">${j.queue} · ${j.id}</span></th>
    <td>${states()[j.state]}<span class="hint block">${F("run %1$s of %2$s", j.attempt, j.maxAttempts)}</span></td>
    <td>${when(j.finished ?? j.scheduled)}</td>
    <td class="said">${j.lastError ? html`<code>${j.lastError}</code>` : "–"}</td>
    <td><div class="row tight">
      ${j.state !== "running" && html`<${Change} class="small" icon="retry" busy=${act.busy} onClick=${() => act.run(j.id, "retry")}>
        ${T("Run now")}<//>`}
      ${!ended(j) && html`<${Change} class="small" kind="danger" busy=${act.busy} onClick=${() => ask(j.id)}>${T("End")}<//>`}
    </div></td>
  </tr>`;
  return html`<${Problem} error=${list.error ?? act.error} />
    ${list.items.length === 0 ? html`<${Nothing} sentence=${T("No jobs here.")} />`
    : html`<${Table} caption=${T("Background jobs")} head=${[T("Job"), T("State"), T("Time"), T("Last error"), T("Action")]}>
      ${list.items.map(row)}<//>`}
    <${Listed} of=${list} />
    ${asked > 0 && html`<${Ask} question=${T("End this job? It does not run again, and what it would have done may stay undone.")}
      yes=${T("End")}
      onYes=${() => act.run(asked, "cancel")} onClose=${() => ask(0)} />`}
    ${dialog}`;
}
