// /admin/settings: maintenance mode, refused requests, and the settings with where each comes from.

import { Ask, Check, Field, Problem, Waiting, announce, html, useAction, useLoaded, useState } from "../ui.js";
import { F, T, count, when } from "../i18n.js";
import { Nothing, Table } from "../lists.js";
import { ask, showConsole, useChange } from "./console.js";
import { Change } from "./reasons.js";

showConsole("settings", () => {
  const { value, error, reload } = useLoaded(async () => {
    const [settings, limits] = await Promise.all([ask("GET", "/settings"), ask("GET", "/limits")]);
    return { ...settings.body, refusals: limits.body.refusals };
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  return html`<${Maintenance} on=${value.maintenance} from=${value.maintenanceFrom} until=${value.maintenanceUntil} onChange=${reload} />
    <${Refusals} of=${value.refusals} />
    <${Settings} of=${value.settings} />`;
});

/** @param {{on: boolean, from?: string, until?: string, onChange: () => void}} props `from`: of an announced one, too */
function Maintenance({ on, from, until, onChange }) {
  const { change, dialog } = useChange();
  const [asked, setAsked] = useState(false);
  const [times, setTimes] = useState({ from: "", until: "" });
  const put = useAction(async (/** @type {boolean} */ wanted) => {
    const given = Object.entries(times).filter(([, at]) => at).map(([name, at]) => [name, new Date(at).toISOString()]);
    await change("PUT", "/maintenance", { json: { on: wanted, ...(wanted ? Object.fromEntries(given) : {}) } });
    announce(T("Done"));
    setTimeout(onChange, 500); // this replica learns of it as all others do
  });
  const planned = !on && from, off = !on && !planned;
  const bind = (/** @type {"from" | "until"} */ name) => ({ type: "datetime-local", name, value: times[name],
    onInput: (/** @type {any} */ e) => setTimes({ ...times, [name]: e.target.value }) });
  const begin = times.from ? T("Announce maintenance") : T("Begin maintenance");
  return html`<section class="card stack"><h2>${T("Maintenance")}</h2>
    <p>${on ? T("Maintenance mode is on: all requests are refused.")
      : planned ? F("Maintenance is announced and begins at %s.", when(from)) : T("Maintenance mode is off.")}
      ${until && html` ${F("People are told that it ends at %s.", when(until))}`}</p>
    ${off && html`<div class="pair"><${Field} label=${T("Begins")} optional hint=${T("Empty: now. People who are signed in see it before.")}
      ...${bind("from")} /><${Field} label=${T("Ends")} optional hint=${T("People are told. You end it.")} ...${bind("until")} /></div>`}
    <${Problem} error=${put.error} />
    <div><${Change} kind=${off ? "danger" : "primary"} busy=${put.busy} onClick=${() => (off ? setAsked(true) : put.run(false))}>
      ${on ? T("End maintenance") : planned ? T("Call it off") : begin}<//></div>
    ${asked && html`<${Ask} question=${T("Begin maintenance? Everybody gets an error page, and uploads stop. The console goes on, with its sign-in; consign maintenance off ends maintenance, too.")}
      yes=${begin} onYes=${() => put.run(true)} onClose=${() => setAsked(false)} />`}
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
