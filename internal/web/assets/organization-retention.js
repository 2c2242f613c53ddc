// The rules of an organization about how long things stay (contract 4.32), as a part of its form of rules.

import { Field, html } from "./ui.js";
import { T } from "./i18n.js";

/** The kinds with their labels; which of them have a least. @returns {[string, string, boolean][]} */
const kinds = () => [["transfers", T("Files of transfers"), true], ["receipts", T("Receipts"), true],
  ["mails", T("Records of mails"), false], ["audit", T("Log of changes"), false]];

/** Fields for the rules. @param {{value?: any}} props */
export function Retention({ value = {} }) {
  const days = (kind, bound, label) => html`<${Field} label=${label} name=${`retention-${kind}-${bound}`} type="number" min="1" max="36500"
    defaultValue=${value[kind]?.[bound] ?? ""} />`;
  return html`<fieldset class="plain stack"><legend>${T("How long things stay, in days")}</legend>
    <p class="hint">${T("Empty: no rule. Nothing that is there now is erased for 7 days. A change is mailed to all administrators.")}</p>
    ${kinds().map(([kind, label, both]) => html`<fieldset key=${kind} class="plain tight"><legend>${label}</legend>
      <div class="pair">${both && days(kind, "least", T("At least"))}${days(kind, "most", T("At most"))}</div></fieldset>`)}
    <p class="hint">
      ${T("What is deleted before the least time ends for everybody. Its files stay on the server, and count as storage.")}</p>
  </fieldset>`;
}

/** The rules that the fields of Retention state. @param {Record<string, string>} input */
export const retentionOf = (input) => Object.fromEntries(kinds().map(([kind]) => [kind, Object.fromEntries(["least", "most"]
  .map((bound) => [bound, Number(input[`retention-${kind}-${bound}`] ?? 0)]).filter(([, days]) => days))]));
