// /admin/charts: what the installation did in the last 24 hours or 30 days.

import { Button, Problem, Waiting, html, useState } from "../ui.js";
import { T, bytes, count } from "../i18n.js";
import { Chart } from "../chart.js";
import { Nothing } from "../lists.js";
import { usePlace } from "../place.js";
import { ask, showConsole, useLive } from "./console.js";

/**
 * Titles of the charts, and their series as [member, name, format].
 * @type {() => [string, [string, string, (value: number) => string][]][]}
 */
const charts = () => [
  [T("HTTP requests"), [["requests", T("HTTP requests"), count], ["errors", T("Errors of the server"), count]]],
  [T("Uploads and downloads"), [["uploads", T("Uploads"), count], ["downloads", T("Downloads"), count]]],
  [T("Bytes"), [["bytesIn", T("Received"), bytes], ["bytesOut", T("Sent"), bytes]]],
  [T("Transfers and sign-ins"), [["deliveries", T("Confirmed transfers"), count], ["logins", T("Sign-ins"), count]]],
  [T("What waits"), [["mails", T("Mails"), count], ["jobs", T("Background jobs"), count]]],
  [T("Free space"), [["free", T("Free space"), bytes]]],
  [T("Size of the database"), [["database", T("Database"), bytes]]],
  [T("People and transfers"), [["people", T("People"), count], ["transfers", T("Transfers"), count]]],
];

/**
 * Lays samples on a grid of steps: times without a sample are gaps.
 * @param {{from: string, until: string, seconds: number, samples: AdminAPI["Sample"][]}} of an answer of GET /samples
 */
export function grid({ from, until, seconds, samples }) {
  const first = Date.parse(from), step = seconds * 1000, steps = Math.round((Date.parse(until) - first) / step);
  const found = new Map(samples.map((s) => [Math.round((Date.parse(s.at) - first) / step), s]));
  return {
    times: Array.from({ length: steps }, (_, i) => new Date(first + i * step).toISOString()),
    values: (/** @type {string} */ member) => Array.from({ length: steps }, (_, i) => found.get(i)?.[member] ?? null),
  };
}

showConsole("charts", () => {
  const [{ period: named }, go] = usePlace("/admin/charts", { period: "24h" });
  const period = named === "30d" ? "30d" : "24h";
  const { value, error } = useLive(async () => ({ period, ...(await ask("GET", `/samples?period=${period}`)).body }), [period]);
  const choice = (/** @type {string} */ name, /** @type {string} */
    label) => html`<${Button} class="small" aria-pressed=${String(period === name)} kind=${period === name ? "primary" : "plain"}
      onClick=${() => go({ period: name })}>${label}<//>`;
  const { times, values } = value ? grid(value) : { times: [], values: () => [] };
  return html`<div class="row" role="group" aria-label=${T("Time")}>
    ${choice("24h", T("Last 24 hours"))}${choice("30d", T("Last 30 days"))}</div>
    ${!value ? html`<${Waiting} error=${error} />` : html`<${Problem} error=${error} />
    <p class="hint above">${T("Of all servers. A gap is a time in which none ran. Uploads and downloads are requests; a file can take several.")}</p>
    ${value.samples.length === 0 ? html`<${Nothing}
      sentence=${T("There are no values of this time yet. The first ones come a few minutes after the start.")} />`
    : html`<div class="charts">${charts().map(([title,
      series]) => html`<${Chart} key=${title} title=${title} times=${times} until=${value.until}
      series=${series.map(([member, name, format]) => ({ name, format, values: values(member) }))} />`)}</div>`}`}`;
});
