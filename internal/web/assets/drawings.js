// Drawings for lists without entries and links that lead nowhere: lines in the colour of the text, one shape in the accent colour.

import { html } from "./ui.js";

/** Lines and accented lines by name, in a field of 96 by 72. @type {Record<string, [string, string]>} */
const drawings = {
  people: ["M18 60c0-9 6-15 14-15s14 6 14 15M32 37a8 8 0 1 0 0-16 8 8 0 0 0 0 16M50 60c0-9 6-15 14-15s14 6 14 15M64 37a8 8 0 1 0 0-16 8 8 0 0 0 0 16", "M48 6v10m-5-5h10"],
  letter: ["M16 26v34h64V26M16 26 48 8l32 18M16 60l24-19m40 19L56 41", "M30 34V24h36v10M38 31h20"],
  search: ["M18 18h34M18 30h22M18 42h16M18 54h30", "M62 50a14 14 0 1 0 0-28 14 14 0 0 0 0 28m10-4 10 12"],
  away: ["M20 26h56a4 4 0 0 1 4 4v26a4 4 0 0 1-4 4H20a4 4 0 0 1-4-4V30a4 4 0 0 1 4-4M38 26v-7a3 3 0 0 1 3-3h14a3 3 0 0 1 3 3v7",
    "M16 42h64M48 38v8"],
  full: ["M16 30 48 16l32 14v24L48 68 16 54zM16 30l32 14 32-14M48 44v24", "M36 6l12 8 12-8"],
  gone: ["M30 8h36M30 64h36M34 8v9c0 9 14 13 14 19s-14 10-14 19v9M62 8v9c0 9-14 13-14 19s14 10 14 19v9", "M41 56h14M48 37v8"],
  link: ["M40 46 30 56a11 11 0 0 1-15-15l12-12a11 11 0 0 1 14-1M56 26l10-10a11 11 0 0 1 15 15L69 43a11 11 0 0 1-14 1",
    "M48 10v8m-10-4 4 6m6 42v-8m10 4-4-6"],
};

/**
 * What a page or list shows instead of contents: a drawing, a sentence, and as children what to do next.
 * @param {{drawing: string, children?: any, sentence?: any, title?: string, head?: any}} props `title`: a heading of the second level,
 *  `head`: another one
 */
export const Empty = ({ drawing, sentence = "", title = "", head = null, children = null }) => html`<div class="blank">
  <svg class="drawing" viewBox="0 0 96 72" aria-hidden="true"><path d=${drawings[drawing][0]} /><path class="accent"
    d=${drawings[drawing][1]} /></svg>
  ${head ?? (title && html`<h2>${title}</h2>`)}
  ${sentence && html`<p>${sentence}</p>`}
  ${children && html`<div class="row center">${children}</div>`}
</div>`;
