// A chart of one or two series over time as inline SVG, with its values as a table. Times without a sample are gaps.

import { Fragment, html, useId, useState } from "./ui.js";
import { F, T, when } from "./i18n.js";
import { Table } from "./lists.js";

/**
 * A series: its name, its value at each step, null where it is not known, and how a value is written.
 * @typedef {{name: string, values: (number | null)[], format: (value: number) => string}} Series
 */

/** Size of the drawing, which is stretched to the size of its box. */
const width = 600, height = 120;

/** The least of 1, 2 and 5 times a power of ten that is not below a value. @param {number} most */
export function ceiling(most) {
  if (most <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * power).find((top) => top >= most) ?? most;
}

/**
 * The path of a series: a line for each run of known values, and a dash for a value alone.
 * @param {(number | null)[]} values @param {number} top
 */
export function pathOf(values, top) {
  let path = "", run = 0;
  values.forEach((value, i) => {
    if (value === null) {
      if (run === 1) path += "h2";
      run = 0;
      return;
    }
    const x = ((i + 0.5) * width / values.length).toFixed(1), y = (height - value * height / top).toFixed(1);
    path += `${run === 0 ? "M" : "L"}${x} ${y}`;
    run++;
  });
  return run === 1 ? `${path}h2` : path;
}

/** What is known of a series. @param {Series} series */
const known = (series) => /** @type {number[]} */ (series.values.filter((value) => value !== null));

/** The name of a series with its highest and newest value. @param {{of: Series, index: number}} props */
function Legend({ of, index }) {
  const values = known(of), newest = of.values.at(-1);
  return html`<li><svg class=${`key series-${index}`} viewBox="0 0 24 8" aria-hidden="true"><path d="M1 4h22" /></svg>
    <span>${of.name}</span> <span class="hint">${values.length > 0 && F("most: %s", of.format(Math.max(...values)))}${values.length > 0
      && newest !== null && newest !== undefined && ` · ${F("newest: %s", of.format(newest))}`}</span></li>`;
}

/**
 * The chart. `times`: the beginnings of the steps; `until`: the end of the last one, or its beginning; `spell`: how these are written.
 * @param {{title: string, series: Series[], times: string[], until: string, spell?: (time: string) => string}} props
 */
export function Chart({ title, series, times, until, spell = when }) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const all = series.flatMap(known);
  const top = ceiling(Math.max(0, ...all)), format = series[0].format;
  return html`<figure class="card chart" aria-labelledby=${id}>
    <figcaption id=${id}><h2>${title}</h2></figcaption>
    <ul class="list legend">${series.map((s, i) => html`<${Legend} key=${s.name} of=${s} index=${i} />`)}</ul>
    ${all.length === 0 ? html`<p class="hint">${T("Nothing is known of this time.")}</p>` : html`<${Fragment}>
      <div class="plot" aria-hidden="true">
        <span class="most">${format(top)}</span>
        <svg viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none">
          <path class="grid" d=${`M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}`} />
          ${series.map((s, i) => html`<path key=${s.name} class=${`series-${i}`} d=${pathOf(s.values, top)} />`)}
        </svg>
        <span class="from">${spell(times[0])}</span><span class="until">${spell(until)}</span>
      </div>
      <details onToggle=${(/** @type {any} */ e) => setOpen(e.target.open)}><summary>${T("As a table")}</summary>
        ${open && html`<${Table} caption=${title} head=${[T("Time"), ...series.map((s) => s.name)]}>
          ${times.map((time, i) => series.some((s) => s.values[i] !== null) && html`<tr key=${time}><th scope="row">${spell(time)}</th>
            ${series.map((s) => html`<td>${s.values[i] === null ? "–" : s.format(/** @type {number} */ (s.values[i]))}</td>`)}</tr>`)}
        <//>`}</details><//>`}
  </figure>`;
}
