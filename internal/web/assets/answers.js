// The answers of a sender to the questions of a mailbox.

import { html } from "./ui.js";
import { day } from "./i18n.js";

/** @param {{value: string, format: string}} answer */
const shown = ({ value, format }) => (format === "date" && /^\d{4}-\d\d-\d\d$/.test(value) ? day(value) : value);

/**
 * Rows of a list of facts (dl), one for each answer.
 * @param {{answers?: {name: string, title: string, value: string, format: string}[]}} props
 */
export const Answers = ({ answers = [] }) => answers.map((a) => html`<dt key=${a.name}>${a.title}</dt><dd class="lines">${shown(a)}</dd>`);
