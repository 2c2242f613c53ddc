// The organization page: settings of transfers, used volume, and documents.

import { Button, Check, Field, Form, Notice, Problem, Save, Waiting, html, useAction, useLoaded, useSaving } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, T, bytes, count, list, month, percent, unlimited, volume, when } from "./i18n.js";
import { own, transfer } from "./api.js";
import { OrganizationPolicy, policyOf } from "./malware.js";
import { UploadOrigins } from "./organization-origins.js";
import { UsageOverTime } from "./organization-usage.js";
import { Retention, retentionOf } from "./organization-retention.js";
import { saveBody } from "./downloads.js";
import { useStepUp } from "./stepup.js";
import { now } from "./session.js";

/** Edits the settings of transfers. @param {{at: OrganizationPath}} props URL of the organization */
export function Settings({ at }) {
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/adminunit`)).body);
  return value ? html`<${Rules} value=${value} /><${UploadOrigins} at=${at} />` : html`<${Waiting} error=${error} />`;
}

function Rules({ value }) {
  const { stepUp, dialog } = useStepUp();
  const save = useSaving(async (input) => {
    const days = input.availableTtl.split(/[\s,;]+/).filter(Boolean).map(Number);
    const numbers = Object.fromEntries(["defaultTtl", "maxFiles", "maxFileSizeMb",
      "maxRecipients"].map((name) => [name, Number(input[name])]));
    const json = { ...numbers, availableTtl: days, protectionLevel: input.protectionLevel, priorityEnabled: input.priorityEnabled === "on",
      pinningEnabled: input.pinningEnabled === "on",
      ...(value.inspection ? { inspection: policyOf(input) } : {}), retention: retentionOf(input) };
    await stepUp("PUT", `${transfer}/adminunit`, json);
  });
  const number = (name, label) => html`<${Field} label=${label} name=${name} type="number" min="1" required defaultValue=${value[name]} />`;
  const levels = [["none", T("The link is enough")], ["password", T("Password")],
    ["recipientAuthentication", T("A code sent to each recipient")]];
  return html`<section class="card stack"><h2>${T("Rules for transfers")}</h2>
    <${Form} onSend=${save.run} refused=${save.error} onInput=${save.touch}>
      <div class="pair">
        <${Field} label=${T("Periods to choose from, in days")} name="availableTtl" required
          defaultValue=${value.availableTtl.join(", ")} />
        ${number("defaultTtl", T("Default period, in days"))}
      </div>
      <${Field} label=${T("Minimum protection")} name="protectionLevel" as="select">
        ${levels.map(([level, name]) => html`<option value=${level} selected=${level === value.protectionLevel}>${name}</option>`)}<//>
      <div class="pair">
        ${number("maxFiles", T("Maximum files"))}${number("maxFileSizeMb", T("Maximum file size, in MB"))}${number("maxRecipients",
          T("Maximum recipients"))}
      </div>
      <${Check} label=${T("Senders may set a priority")} name="priorityEnabled" defaultChecked=${value.priorityEnabled} />
      <${Check} label=${T("Owners of mailboxes may keep transfers for longer")} name="pinningEnabled"
        defaultChecked=${value.pinningEnabled} />
      ${value.inspection && html`<${OrganizationPolicy} value=${value.inspection} />`}
      <${Retention} value=${value.retention} />
      <${Save} of=${save} />
    <//>
    ${dialog}
  </section>`;
}

/**
 * Shows the used volume, and to administrators charts, the limits and subscriptions.
 * @param {{at: OrganizationPath, admin: boolean, free: boolean}} props
 */
export function Usage({ at, admin, free }) {
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/usage`)).body);
  if (!value) return html`<${Waiting} error=${error} />`;
  const shared = value.organizationBytes !== null && value.organizationBytes !== undefined;
  return html`<section class="card stack"><h2>${F("Usage in %s", month(value.month))}</h2>
    <${Meter} label=${T("Received and sent by you")} used=${value.uploadBytes} limit=${value.uploadLimitBytes} />
    ${shared && html`<${Meter} label=${T("By the whole organization")} used=${value.organizationBytes}
      limit=${value.organizationLimitBytes} />`}
    ${shared && html`<${Meter} label=${T("Currently stored")} used=${value.storedBytes} limit=${value.storageLimitBytes} />`}
  </section>
  ${admin && !free && html`<${UsageOverTime} />`}
  ${admin && html`<${Limits} at=${at} />`}`;
}

/** Shows what the plan and the subscriptions of the organization allow. @param {{at: OrganizationPath}} props */
function Limits({ at }) {
  const { value, error } = useLoaded(async () => {
    const [limits, organization] = await Promise.all([own("GET", `${at}/limits`), own("GET", at)]);
    return { ...limits.body, subscriptions: organization.body.subscriptions };
  }, [at]);
  if (!value) return html`<${Waiting} error=${error} />`;
  const { members: people, limitations: l, subscriptions } = value;
  const yes = (allowed) => (allowed ? T("Yes") : T("No"));
  const facts = [
    [T("Members"), F("%s of %s", count(people), count(l.users))], [T("Service for transfers"), yes(l.serviceEnabled)],
    [T("Monthly volume"), volume(l.transferVolumeGb)], [T("Storage"), volume(l.storageVolumeGb)],
    [T("Maximum recipients"), count(l.newTransferReceiversLimit)], [T("Groups of mailboxes"), count(l.mailboxGroups)],
    [T("Filter of file types"), yes(l.mimeTypeFilter)], [T("Custom hostname"), yes(l.changeHostname !== "noChange")],
    [T("Data processing agreement"), yes(l.gdprContract)],
  ];
  return html`<section class="card stack"><h2>${T("Your plan")}</h2>
    <dl class="facts">${facts.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>
    <p class="hint">${T("The operator of this server can change it.")}</p>
  </section>
  <section class="card stack"><h2>${T("Subscriptions")}</h2>
    ${subscriptions.length === 0 && html`<${Empty} drawing="letter"
      sentence=${T("There are no subscriptions. The operator of this server can add one.")} />`}
    <ul class="list rows">${subscriptions.map((s) => html`<li key=${s.productId} class="row between"><b>${s.displayName}</b>
      <span class="hint">${s.status}${s.expiresAt ? ` · ${F("until %s", when(s.expiresAt))}` : ""}</span></li>`)}</ul>
  </section>`;
}

/** A used amount, with a bar when there is a limit. */
function Meter({ label, used, limit }) {
  if (limit === null || limit >= unlimited * 1e9) {
    return html`<div class="usage"><div class="row between"><strong>${label}</strong><span>${bytes(used)}</span></div>
      <span class="hint">${T("No limit")}</span></div>`;
  }
  const share = limit > 0 ? Math.min(1, used / limit) : 1;
  return html`<div class="usage">
    <div class="row between"><strong>${label}</strong><span>${F("%s of %s", bytes(used), bytes(limit))}</span></div>
    <progress class=${share >= 0.9 ? "full" : ""} max="1" value=${used > 0 ? Math.max(0.005, share) : 0} aria-label=${label}></progress>
    <span class="hint">${share >= 0.001 ? percent(share) : F("less than %s", percent(0.001))}</span>
  </div>`;
}

/** Lists the documents. @param {{at: OrganizationPath}} props URL of the organization */
export function Documents({ at }) {
  const get = useAction(async () => {
    const { response } = await own("GET", `${at}/documents?type=dataProcessing&domain=skp`, { accept: "application/pdf" });
    const name = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "data-processing.pdf";
    await saveBody(response, name);
  });
  const { value, error } = useLoaded(async () => (await own("GET", at)).body, [at]);
  if (!value) return html`<${Waiting} error=${error} />`;
  const subscribed = value.subscriptions.some((s) => s.domain === "skp" && s.status === "active"
    && !(Date.parse(s.expiresAt ?? "") < now()));
  const lacks = [["name", T("Name")], ["addressLine1", T("Address")], ["city", T("City")], ["country", T("Country")]]
    .filter(([name]) => !value.profile[name]?.trim()).map(([, label]) => label);
  return html`<section class="card stack"><h2>${T("Documents")}</h2>
    <p>${T("The agreement on data processing between the provider and your organization, filled in from its profile.")}</p>
    ${!subscribed && html`<${Notice}>${T("The agreement needs an active subscription. The operator of this server can add one.")}<//>`}
    ${subscribed && lacks.length > 0 && html`<${Notice} kind="warn">${F("Missing from the profile: %s.", list(lacks))} <a href="#profile">
      ${T("Profile")}</a><//>`}
    <${Problem} error=${get.error} />
    <div><${Button} icon="download" disabled=${!subscribed || lacks.length > 0} busy=${get.busy} onClick=${() => get.run()}>
      ${T("Data processing agreement (PDF)")}<//></div>
  </section>`;
}
