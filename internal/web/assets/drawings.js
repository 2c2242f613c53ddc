// Drawings for lists without entries and links that lead nowhere: lines in the colour of the text, one shape in the accent colour.

import { html } from "./ui.js";

/** Lines and accented lines by name, in a field of 96 by 72. @type {Record<string, [string, string]>} */
const drawings = {
  people: ["M18 60c0-9 6-15 14-15s14 6 14 15M32 37a8 8 0 1 0 0-16 8 8 0 0 0 0 16M50 60c0-9 6-15 14-15s14 6 14 15M64 37a8 8 0 1 0 0-16 8 8 0 0 0 0 16", "M48 6v10m-5-5h10"],
  letter: ["M16 26v34h64V26M16 26 48 8l32 18M16 60l24-19m40 19L56 41", "M30 34V24h36v10M38 31h20"],
  search: ["M18 18h34M18 30h22M18 42h16M18 54h30", "M62 50a14 14 0 1 0 0-28 14 14 0 0 0 0 28m10-4 10 12"],
  link: ["M40 46 30 56a11 11 0 0 1-15-15l12-12a11 11 0 0 1 14-1M56 26l10-10a11 11 0 0 1 15 15L69 43a11 11 0 0 1-14 1", "M48 10v8m-10-4 4 6m6 42v-8m10 4-4-6"],
};

/**
 * What a page or list shows instead of contents: a drawing, a sentence, and as children what to do next.
 * @param {{drawing: string, children?: any, sentence: string}} props
 */
export const Empty = ({ drawing, sentence, children = null }) => html`<div class="blank">
  <svg class="drawing" viewBox="0 0 96 72" aria-hidden="true"><path d=${drawings[drawing][0]} /><path class="accent" d=${drawings[drawing][1]} /></svg>
  <p>${sentence}</p>
  ${children && html`<div class="row center">${children}</div>`}
</div>`;
