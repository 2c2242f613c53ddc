// How long a transfer is available, what protects it, and whether the sender is told: the folded options of a transfer that is sent or
// forwarded.

import { Check, Field, html, useState } from "./ui.js";
import { N, T } from "./i18n.js";
import { Password } from "./signin.js";

const strength = ["none", "password", "recipientAuthentication"]; // weakest first

/** Returns the stronger one of two protections. @param {string} a @param {string} b */
export const stronger = (a, b) => strength[Math.max(strength.indexOf(a), strength.indexOf(b))];

/** Returns the options as members of a reservation. @param {any} values @param {boolean} people whether there are recipients */
export const terms = ({ ttl, priority, protection, password, deliveryNotification }, people) => ({
  ttl, protection,
  ...(priority !== 3 ? { priority } : {}),
  ...(protection === "password" && password ? { password } : {}),
  ...(people ? { deliveryNotification } : {}),
});

/**
 * The options at first.
 * @param {TransferAPI["Environment"]} environment of the service @param {string} [least] the weakest protection allowed
 */
export const usualTerms = (environment, least = "none") => ({
  ttl: environment.defaultTtl, priority: 3, protection: stronger(environment.protectionLevel, least), password: "",
    deliveryNotification: true,
});

/**
 * The options. `least`: the weakest protection that is offered. `people`: there are recipients, who can get a code.
 * @param {{values: any, change: (part: any) => void, environment: TransferAPI["Environment"], least: string, people: boolean, wrong:
 *  Record<string, unknown>, children?: any}} props
 */
export function Options({ values, change, environment, least, people, wrong, children = null }) {
  const priorities = [[1, T("Highest")], [2, T("High")], [3, T("Normal")], [4, T("Low")], [5, T("Lowest")]];
  /** @type {Record<string, string>} */
  const protections = { none: T("The link is enough"), password: T("Password"),
    recipientAuthentication: T("A code sent to each recipient") };
  const offered = strength.slice(strength.indexOf(least)).filter((level) => level !== "recipientAuthentication" || people);
  const [shown] = useState(values.protection === "password"); // at first
  return html`<details class="more options" open=${shown || Boolean(wrong.password)}>
    <summary><span>${T("Options")}</span> <span class="dim">
      ${N("%d day", "%d days", values.ttl)} · ${protections[values.protection]}</span></summary>
    ${children}
    <div class="pair">
      <${Field} label=${T("Available for")} as="select" onChange=${(/** @type {any} */ e) => change({ ttl: Number(e.target.value) })}>
        ${environment.availableTtl.map((/** @type {number} */ days) => html`<option value=${String(days)} selected=${values.ttl === days}>
          ${N("%d day", "%d days", days)}</option>`)}<//>
      ${environment.priorityEnabled && html`<${Field} label=${T("Priority")} as="select"
        onChange=${(/** @type {any} */ e) => change({ priority: Number(e.target.value) })}>
        ${priorities.map(([n, name]) => html`<option value=${String(n)} selected=${values.priority === n}>${name}</option>`)}<//>`}
    </div>
    <${Field} label=${T("Protection")} as="select" onChange=${(/** @type {any} */ e) => change({ protection: e.target.value })}>
      ${offered.map((level) => html`<option value=${level} selected=${values.protection === level}>${protections[level]}</option>`)}<//>
    ${values.protection === "password" && html`<${Password} label=${T("Password for the recipients")} autocomplete="new-password"
      hint=${T("Share it some other way, not by email.")} value=${values.password}
        onInput=${(/** @type {any} */ e) => change({ password: e.target.value })} />`}
    ${people && html`<${Check} label=${T("Tell me when it is opened")} checked=${values.deliveryNotification}
      onChange=${(/** @type {any} */ e) => change({ deliveryNotification: e.target.checked })} />`}
  </details>`;
}
