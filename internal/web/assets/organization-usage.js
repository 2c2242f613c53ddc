// The organization page: what the organization stored and uploaded over time (contract 4.28).

import { Button, Waiting, html, useLoaded, useState } from "./ui.js";
import { T, bytes, day, month } from "./i18n.js";
import { own, transfer } from "./api.js";
import { Chart } from "./chart.js";

const dayLength = 86_400_000;

/** The last days up to one, oldest first, as 2026-11-20. @param {string} last @param {number} length */
const daysUntil = (last, length) => Array.from({ length },
  (_, i) => new Date(Date.parse(last) - (length - 1 - i) * dayLength).toISOString().slice(0, 10));

/**
 * What was uploaded on a day: the volume of the month less the one of the day before. Null where one of the two is not known. Uploads
 * that were given up count nothing.
 * @param {string} at @param {Map<string, TransferAPI["UsageOverTime"]["days"][number]>} found the days by name
 */
export function uploadedOn(at, found) {
  const today = found.get(at), before = found.get(daysUntil(at, 2)[0]);
  if (!today) return null;
  if (at.endsWith("-01")) return today.monthBytes;
  return before ? Math.max(0, today.monthBytes - before.monthBytes) : null;
}

/** Charts of the storage and the volume. */
export function UsageOverTime() {
  const [length, setLength] = useState(30);
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/adminunit/usage`)).body);
  if (!value) return html`<${Waiting} error=${error} />`;
  const found = new Map(value.days.map((d) => [d.day, d]));
  const days = daysUntil(value.days[value.days.length - 1].day, length), months = value.months.map((m) => m.month);
  const choice = (/** @type {number} */ n, /** @type {string} */
    label) => html`<${Button} class="small" aria-pressed=${String(length === n)} kind=${length === n ? "primary" : "plain"}
      onClick=${() => setLength(n)}>${label}<//>`;
  const chart = (/** @type {string} */ title, /** @type {string[]} */ times, /** @type {(number | null)[]} */
    values, /** @type {(time: string) => string} */ spell) => html`
    <${Chart} key=${title} title=${title} times=${times} until=${times.at(-1)} spell=${spell}
      series=${[{ name: title, format: bytes, values }]} />`;
  return html`<section class="card stack wide"><h2>${T("Over time")}</h2>
    <p class="hint">${T("Of the whole organization, by days in UTC. A gap is a day of which nothing is known.")}</p>
    <div class="row" role="group" aria-label=${T("Time")}>${choice(30, T("Last 30 days"))}${choice(90, T("Last 90 days"))}</div>
    <div class="charts">
      ${chart(T("Currently stored"), days, days.map((d) => found.get(d)?.storedBytes ?? null), day)}
      ${chart(T("Uploaded in a day"), days, days.map((d) => uploadedOn(d, found)), day)}
      ${chart(T("Uploaded in a month"), months, value.months.map((m) => m.bytes), month)}
    </div>
  </section>`;
}
