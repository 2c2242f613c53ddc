// Entries of an audit as a list: each a sentence with its time, and below it the code and the details for programs and support.

import { html } from "./ui.js";
import { T, when } from "./i18n.js";
import { sentenceOf } from "./auditwords.js";

/**
 * @param {{entries: {id: number, at: string, told: import("./auditwords.js").Told, facts?: (string | undefined | false)[]}[]}} props
 * `facts`: what else the viewer may know of an entry
 */
export const AuditList = ({ entries }) => html`<ul class="list rows audit">${entries.map(({ id, at, told, facts = [] }) => html`<li
  key=${id}><span class="break">${sentenceOf(told)}</span>
  <span class="hint block break">
    ${[when(at), told.actor && roles()[told.role], told.details.why, ...facts].filter(Boolean).join(" · ")}</span>
  <details><summary class="hint">${T("Code and details")}</summary><code class="break">${codeOf(told)}</code></details>
</li>`)}</ul>`;

/** Roles that are worth a word. @type {() => Record<string, string>} */
const roles = () => ({ operator: T("as an operator"), administrator: T("as an administrator") });

/** @param {import("./auditwords.js").Told} told */
const codeOf = ({ action, object, details }) => [action, object, ...Object.entries(details).map(([name, text]) => `${name}: ${text}`)]
  .filter(Boolean).join(" · ");
