// The limitations of an organization on /admin/organizations: which are its own, and changing one.

import { Field, html } from "../ui.js";
import { F, T, bytes, count, volume } from "../i18n.js";
import { Table } from "../lists.js";
import { Action } from "./reasons.js";

/** @typedef {{name: string, label: string, kind: "switch" | "count" | "volume" | "rate" | "hostname", used?: string}} Limit */

/**
 * The limitations. `used`: what is used of one.
 * @type {(o: AdminAPI["OrganizationReport"], usage: AdminAPI["OrganizationUsage"]) => Limit[]}
 */
const limits = (o, usage) => [
  { name: "serviceEnabled", label: T("Service for transfers"), kind: "switch" },
  { name: "users", label: T("Members"), kind: "count", used: count(o.members) },
  { name: "transferVolumeGb", label: T("Monthly volume"), kind: "volume", used: bytes(usage.transferBytes) },
  { name: "storageVolumeGb", label: T("Storage"), kind: "volume", used: bytes(usage.storedBytes) },
  { name: "newTransferLimit", label: T("New transfers at once"), kind: "count" },
  { name: "newTransferDrainRate", label: T("New transfers a minute after these"), kind: "rate" },
  { name: "newTransferReceiversLimit", label: T("Maximum recipients"), kind: "count" },
  { name: "mailboxGroups", label: T("Groups of mailboxes"), kind: "count", used: count(usage.mailboxGroups) },
  { name: "mimeTypeFilter", label: T("Filter of file types"), kind: "switch" },
  { name: "changeHostname", label: T("Custom hostname"), kind: "hostname" },
  { name: "gdprContract", label: T("Data processing agreement"), kind: "switch" },
  { name: "secureSpaces", label: T("Secure spaces"), kind: "switch" },
  { name: "adminPortal", label: T("Admin portal"), kind: "switch" },
];

/** @type {() => Record<string, string>} */
const hostnames = () => ({ noChange: T("No"), pro: T("One label below the domain of this installation."),
  teambeam: T("One or two labels below the domain of this installation."), custom: T("Any hostname") });

/** A value in words. @param {Limit} limit @param {any} value */
function said({ kind, used }, value) {
  if (kind === "switch") return value ? T("Yes") : T("No");
  if (kind === "hostname") return hostnames()[value];
  const text = kind === "volume" ? volume(value) : count(kind === "rate" ? value * 60 : value);
  return used === undefined ? text : F("%s of %s", used, text);
}

/** The member of a request that sets a limitation. The empty text is the value of the plan. @param {Limit} limit @param {string} text */
function parsed({ kind }, text) {
  if (text === "") return null;
  if (kind === "switch") return text === "on";
  if (kind === "hostname") return text;
  return kind === "rate" ? Number(text) / 60 : Number(text);
}

/** The input of a limitation. @param {{of: Limit, value: any, own: boolean, free: boolean}} props `own`: it does not follow the plan */
function Input({ of: limit, value, own, free }) {
  const { kind, label } = limit;
  if (kind === "switch" || kind === "hostname") {
    const options = kind === "switch" ? { on: T("Yes"), off: T("No") } : hostnames();
    const present = kind === "switch" ? (value ? "on" : "off") : value;
    return html`<${Field} label=${label} name="value" as="select">
      ${!free && html`<option value="" selected=${!own}>${T("As in the plan")}</option>`}
      ${Object.entries(options).map(([key, name]) => html`<option value=${key} selected=${own && key === present}>${name}</option>`)}<//>`;
  }
  const present = kind === "rate" ? Number((value * 60).toPrecision(12)) : value;
  return html`<${Field} label=${kind === "volume" ? F("%s, in GB", label) : label} hint=${free ? undefined : T("Empty: as in the plan.")}
    name="value" type="number" min="0" required=${free}
    max=${kind === "volume" ? "1000000000" : kind === "rate" ? "60000000" : "2147483647"} step=${kind === "count" ? "1" : "any"}
      defaultValue=${own ? present : ""} />`;
}

/** @param {{of: AdminAPI["OrganizationReport"], usage: AdminAPI["OrganizationUsage"], at: string, onDone: () => void}} props */
export const Limits = ({ of: o, usage, at, onDone }) => html`<section class="card stack"><h2>${T("Limits")}</h2>
  ${o.free && html`<p class="hint">
    ${T("These are the plan: they apply to every organization that has none of its own, and to people without an organization.")}</p>`}
  <${Table} caption=${T("Limits")} head=${[T("Limit"), T("Value"), T("From"), T("Action")]}>
    ${limits(o, usage).map((limit) => {
      const own = o.ownLimits.includes(limit.name), value = o.limitations[limit.name];
      return html`<tr key=${limit.name}><th scope="row">${limit.label}</th><td>${said(limit, value)}</td><td>
        ${own && !o.free ? T("this organization") : T("the plan")}</td>
        <td><${Action} label=${T("Change")} question=${F("Change the limit “%s”?", limit.label)} path=${`${at}/limits`} onDone=${onDone}
          read=${(/** @type {any} */ form) => ({ [limit.name]: parsed(limit, form.value) })}><${Input} of=${limit} value=${value} own=${own}
            free=${o.free} /><//></td></tr>`;
    })}<//></section>`;
