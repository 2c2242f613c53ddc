// /account: profile and picture, email addresses, invitations, and the organization.

import { Button, Field, Form, Notice, Problem, Save, Tool, html, useAction, useSaving, useState } from "./ui.js";
import { F, T, when } from "./i18n.js";
import { identity, own } from "./api.js";
import { showAccount } from "./accountpage.js";
import { Picture } from "./avatar.js";
import { Place } from "./places.js";
import { Invitations } from "./invitations.js";
import { Membership } from "./membership.js";
import { setLanguage } from "./shell.js";
import { useStepUp } from "./stepup.js";

/** Where parts of this page are since it became four, for old links. @type {Record<string, string>} */
const moved = { "#tokens": "/account/devices#tokens", "#webhooks": "/account/devices#webhooks" };
if (moved[location.hash]) location.replace(moved[location.hash]);

showAccount((profile, reload) => html`
  ${profile.legalHold && html`<${Notice}>${T("A copy of what you delete is kept for a legal reason.")}<//>`}
  <${Profile} profile=${profile} />
  <${Addresses} profile=${profile} onChange=${reload} />
  <${Invitations} shared=${true} />
  <${Membership} profile=${profile} onChange=${reload} />`);

function Profile({ profile }) {
  const save = useSaving(async ({ name, locale, timeZone }) => {
    await own("PUT", `${identity}/profile`, { json: { name: name.trim(), locale, timeZone } });
    if (locale !== document.documentElement.dataset.locale) setLanguage(locale);
  });
  const letters = profile.name || profile.emails[0]?.address || "";
  const fingerprint = profile.fingerprint ?? [];
  return html`<section class="card stack"><h2>${T("Profile")}</h2>
    <${Picture} url=${`${identity}/profile/avatar`} name=${letters} has=${profile.hasAvatar}
      label=${T("Your picture, shown on the page of your mailbox.")} />
    <${Form} onSend=${save.run} refused=${save.error} onInput=${save.touch}>
      <${Field} label=${T("Name")} name="name" defaultValue=${profile.name ?? ""} maxlength="120" autocomplete="name" />
      <${Place} locale=${profile.locale} timeZone=${profile.timeZone} />
      <${Save} of=${save} />
    <//>
    ${fingerprint.length > 0 && html`<p class="hint">${T("Your fingerprint, which lets others recognize you:")}
      <span class="fingerprint"> ${fingerprint.map((f) => f.name).join(" ")}</span></p>`}
  </section>`;
}

function Addresses({ profile, onChange }) {
  const [sent, setSent] = useState("");
  const { stepUp, dialog } = useStepUp();
  const act = useAction(async (method, address, below = "") => {
    await stepUp(method, `${identity}/profile/emails/${encodeURIComponent(address)}${below}`);
    if (below === "/verify") setSent(address);
    else onChange();
  });
  const add = useAction(async ({ address }, form) => {
    await stepUp("POST", `${identity}/profile/emails`, { address: address.trim() });
    form.reset();
    setSent(address.trim());
    onChange();
  });
  return html`<section class="card stack"><h2>${T("Email addresses")}</h2>
    ${sent && html`<${Notice} kind="good">${F("We’ve sent an email to %s. Open the link in it to confirm your address.", sent)}<//>`}
    <ul class="list rows">${profile.emails.map((e) => html`<${Address} key=${e.address} email=${e} act=${act} />`)}</ul>
    <${Problem} error=${act.error} />
    <${Form} onSend=${add.run} refused=${add.error}>
      <${Field} label=${T("Another address")} name="address" type="email" required />
      <${Problem} error=${add.error} />
      <div><${Button} type="submit" busy=${add.busy}>${T("Add")}<//></div>
    <//>
    ${dialog}
  </section>`;
}

function Address({ email, act }) {
  const { address, primary, verified, removeAt } = email;
  const button = (label, method, below) => html`<${Button} kind="quiet" busy=${act.busy} onClick=${() => act.run(method, address, below)}>
    ${label}<//>`;
  return html`<li class="row between">
    <span><b class="break">${address}</b> ${primary && html`<span class="badge">${T("Main address")}</span>`}
      ${!verified && html` <span class="badge warn">${T("Not confirmed")}</span>`}
      ${removeAt && html`<span class="hint block">${F("Will be removed on %s unless confirmed.", when(removeAt))}</span>`}</span>
    <span class="row">
      ${!verified && button(T("Send the email again"), "POST", "/verify")}
      ${verified && !primary && button(T("Make main address"), "POST", "/primary")}
      ${!primary && html`<${Tool} icon="trash" label=${F("Remove %s", address)} onClick=${() => act.run("DELETE", address)} />`}
    </span>
  </li>`;
}
