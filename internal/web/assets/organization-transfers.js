// The organization page: settings of transfers, used volume, and documents.

import { Button, Check, Field, Form, Notice, Problem, Save, Waiting, html, useAction, useLoaded, useSaving } from "./ui.js";
import { F, T, bytes, month, percent } from "./i18n.js";
import { own, transfer } from "./api.js";
import { members } from "./errors.js";

/** Edits the settings of transfers. */
export function Settings() {
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/adminunit`)).body);
  return value ? html`<${Rules} value=${value} />` : html`<${Waiting} error=${error} />`;
}

function Rules({ value }) {
  const save = useSaving(async (input) => {
    const days = input.availableTtl.split(/[\s,;]+/).filter(Boolean).map(Number);
    const numbers = Object.fromEntries(["defaultTtl", "maxFiles", "maxFileSizeMb", "maxRecipients"].map((name) => [name, Number(input[name])]));
    const json = { ...numbers, availableTtl: days, protectionLevel: input.protectionLevel, priorityEnabled: input.priorityEnabled === "on" };
    await own("PUT", `${transfer}/adminunit`, { json });
  });
  const wrong = members(save.error);
  const errorOf = (name) => wrong[name] && T("Please check this.");
  const number = (name, label) => html`<${Field} label=${label} name=${name} type="number" min="1" required defaultValue=${value[name]} error=${errorOf(name)} />`;
  const levels = [["none", T("The link is enough")], ["password", T("Password")], ["recipientAuthentication", T("A code sent to each recipient")]];
  return html`<section class="card stack"><h2>${T("Rules for transfers")}</h2>
    <${Form} onSend=${save.run} onInput=${save.touch}>
      <div class="pair">
        <${Field} label=${T("Periods to choose from, in days")} name="availableTtl" required defaultValue=${value.availableTtl.join(", ")}
          error=${errorOf("availableTtl")} />
        ${number("defaultTtl", T("Usual period, in days"))}
      </div>
      <${Field} label=${T("Least protection")} name="protectionLevel" as="select">
        ${levels.map(([level, name]) => html`<option value=${level} selected=${level === value.protectionLevel}>${name}</option>`)}<//>
      <div class="pair">
        ${number("maxFiles", T("Files at once"))}${number("maxFileSizeMb", T("Largest file, in MB"))}${number("maxRecipients", T("Recipients at most"))}
      </div>
      <${Check} label=${T("Senders may set a priority")} name="priorityEnabled" defaultChecked=${value.priorityEnabled} />
      <${Save} of=${save} />
    <//>
  </section>`;
}

/** Shows the used volume. */
export function Usage() {
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/usage`)).body);
  if (!value) return html`<${Waiting} error=${error} />`;
  const shared = value.organizationBytes !== null && value.organizationBytes !== undefined;
  return html`<section class="card stack"><h2>${F("Usage in %s", month(value.month))}</h2>
    <${Meter} label=${T("Received and sent by you")} used=${value.uploadBytes} limit=${value.uploadLimitBytes} />
    ${shared && html`<${Meter} label=${T("By the whole organization")} used=${value.organizationBytes} limit=${value.organizationLimitBytes} />`}
  </section>`;
}

/** A used amount, with a bar when there is a limit. */
function Meter({ label, used, limit }) {
  if (!limit) {
    return html`<div class="usage"><div class="row between"><strong>${label}</strong><span>${bytes(used)}</span></div>
      <span class="hint">${T("No limit")}</span></div>`;
  }
  const share = Math.min(1, used / limit);
  return html`<div class="usage">
    <div class="row between"><strong>${label}</strong><span>${F("%s of %s", bytes(used), bytes(limit))}</span></div>
    <progress class=${share >= 0.9 ? "full" : ""} max="1" value=${used > 0 ? Math.max(0.005, share) : 0} aria-label=${label}></progress>
    <span class="hint">${share >= 0.001 ? percent(share) : F("less than %s", percent(0.001))}</span>
  </div>`;
}

/** Lists the documents. @param {{at: string}} props URL of the organization */
export function Documents({ at }) {
  const get = useAction(async () => {
    const { response } = await own("GET", `${at}/documents?type=dataProcessing&domain=skp`, { accept: "application/pdf" });
    const name = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "data-processing.pdf";
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await response.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  });
  const lacking = get.error?.status === 403;
  return html`<section class="card stack"><h2>${T("Documents")}</h2>
    <p>${T("The agreement on data processing between the provider and your organization, filled in from its profile.")}</p>
    ${lacking ? html`<${Notice} kind="warn">${T("The document needs an active subscription and a complete profile.")}<//>`
      : html`<${Problem} error=${get.error} />`}
    <div><${Button} icon="download" busy=${get.busy} onClick=${() => get.run()}>${T("Data processing agreement (PDF)")}<//></div>
  </section>`;
}
