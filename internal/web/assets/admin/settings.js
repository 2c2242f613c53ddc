// /admin/settings: maintenance mode, refused requests, and the settings with where each comes from.

import { Ask, Button, Check, Problem, Waiting, announce, html, useAction, useLoaded, useState } from "../ui.js";
import { T, count } from "../i18n.js";
import { Nothing, Table } from "../lists.js";
import { ask, showConsole, useChange } from "./console.js";

showConsole("settings", () => {
  const { value, error, reload } = useLoaded(async () => {
    const [settings, limits] = await Promise.all([ask("GET", "/settings"), ask("GET", "/limits")]);
    return { ...settings.body, refusals: limits.body.refusals };
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`<${Maintenance} on=${value.maintenance} onChange=${reload} />
    <${Refusals} of=${value.refusals} />
    <${Settings} of=${value.settings} />`;
});

function Maintenance({ on, onChange }) {
  const { change, dialog } = useChange();
  const [asked, setAsked] = useState(false);
  const put = useAction(async (/** @type {boolean} */ wanted) => {
    await change("PUT", "/maintenance", { json: { on: wanted } });
    announce(T("Done"));
    setTimeout(onChange, 500); // this replica learns of it as all others do
  });
  return html`<section class="card stack"><h2>${T("Maintenance")}</h2>
    <p>${on ? T("Maintenance mode is on: all requests are refused.") : T("Maintenance mode is off.")}</p>
    <${Problem} error=${put.error} />
    <div><${Button} kind=${on ? "primary" : "danger"} busy=${put.busy} onClick=${() => (on ? put.run(false) : setAsked(true))}>
      ${on ? T("End maintenance") : T("Begin maintenance")}<//></div>
    ${asked && html`<${Ask} question=${T("Begin maintenance? Everybody gets an error page, and uploads stop. The console goes on, with its sign-in; consign maintenance off ends maintenance, too.")}
      yes=${T("Begin maintenance")} onYes=${() => put.run(true)} onClose=${() => setAsked(false)} />`}
    ${dialog}</section>`;
}

function Refusals({ of }) {
  return html`<section class="card stack"><h2>${T("Refused requests")}</h2>
    <p class="hint">${T("How often each rate limit of this server was exceeded since its start.")}</p>
    ${of.length === 0 ? html`<${Nothing} sentence=${T("None was exceeded.")} />`
    : html`<${Table} caption=${T("Refused requests")} head=${[T("Rate limit"), T("Refused")]}>
      ${of.map((r) => html`<tr key=${r.bucket}><th scope="row"><code>${r.bucket}</code></th><td>${count(r.count)}</td></tr>`)}<//>`}
  </section>`;
}

function Settings({ of }) {
  const [all, setAll] = useState(false);
  const shown = of.filter((s) => all || s.source === "environment");
  return html`<section class="card stack"><h2>${T("Settings")}</h2>
    <${Check} label=${T("Show defaults, too")} checked=${all} onChange=${() => setAll(!all)} />
    ${shown.length === 0 ? html`<${Nothing} sentence=${T("All settings have their defaults.")} />`
    : html`<${Table} caption=${T("Settings")} head=${[T("Setting"), T("Value"), T("From")]}>
      ${shown.map((s) => html`<tr key=${s.name}><th scope="row"><code>${s.name}</code><span class="hint block" lang="en">
        ${s.description}</span></th>
        <td class="said"><code>${s.value || "–"}</code></td><td>${s.source === "environment" ? T("environment") : T("default")}</td></tr>`)}
          <//>`}
  </section>`;
}
