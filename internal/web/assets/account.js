// /account: profile, picture, email addresses, authenticators, sessions, membership, and deleting the account.

import {
  Ask, Button, Field, Form, Notice, Problem, Save, Tool, Unloaded, Waiting, html, showOwn, useAction, useLoaded, useSaving, useState,
} from "./ui.js";
import { F, T, since, when } from "./i18n.js";
import { call, forget, identity, own } from "./api.js";
import { saveBody } from "./downloads.js";
import { APITokens } from "./apitokens.js";
import { Picture } from "./avatar.js";
import { Place } from "./places.js";
import { Credentials } from "./credentials.js";
import { Invitations } from "./invitations.js";
import { Membership } from "./membership.js";
import { now, person } from "./session.js";
import { setLanguage } from "./shell.js";
import { useStepUp } from "./stepup.js";
import { Webhooks } from "./webhooks.js";

showOwn(() => {
  const { value: profile, error, reload } = useLoaded(async () => (await own("GET", `${identity}/profile`)).body);
  if (error) return html`<${Unloaded} title=${T("Your account")} error=${error} />`;
  if (!profile) return html`<${Waiting} />`;
  return html`<h1>${T("Your account")}</h1>
    <div class="stack sections">
      <${Profile} profile=${profile} />
      <${Addresses} profile=${profile} onChange=${reload} />
      <${Credentials} profile=${profile} />
      <${Sessions} />
      <${APITokens} />
      <${Webhooks} />
      <${Invitations} shared=${true} />
      <${Membership} profile=${profile} onChange=${reload} />
      <${Copy} />
      <${Leave} />
    </div>`;
});

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

function Sessions() {
  const { value, error, reload } = useLoaded(async () => {
    const [listed, uses] = await Promise.all([call("GET", `${identity}/auth`), call("GET", `${identity}/auth/uses`)]);
    const used = new Map(uses.body.uses.map((u) => [u.jti, u.lastUsedTimestamp]));
    return listed.body.tokens.map((t) => ({ ...t, used: used.get(t.jti) ?? t.issuedTimestamp }));
  });
  const here = person()?.jti;
  const [asking, setAsking] = useState(false);
  const end = useAction(async (jti) => {
    await call("POST", `${identity}/auth/logout?jti=${encodeURIComponent(jti)}`);
    if (jti === "all" || jti === here) {
      await forget();
      location.assign("/");
    } else reload();
  });
  return html`<section class="card stack"><h2>${T("Sessions")}</h2>
    <${Problem} error=${error ?? end.error} />
    <ul class="list rows">${(value ?? []).map((s) => html`<li key=${s.jti} class="row between">
      <span><b>${browser(s.userAgent)}</b> ${s.jti === here && html`<span class="badge good">${T("This device")}</span>`}
        <span class="hint block">${s.jti === here ? T("Active now") : F("Last active %s", since(s.used, now()))}
          ${" · "}${F("signed in on %s", when(s.issuedTimestamp))} · ${s.ip}</span></span>
      <${Button} busy=${end.busy} onClick=${() => end.run(s.jti)}
        aria-label=${F("Sign out %s", `${browser(s.userAgent)}, ${when(s.issuedTimestamp)}`)}>${T("Sign out")}<//>
    </li>`)}</ul>
    <div><${Button} kind="danger" onClick=${() => setAsking(true)}>${T("Sign out everywhere")}<//></div>
    ${asking && html`<${Ask} question=${T("Sign out on every device, including this one?")} yes=${T("Sign out everywhere")}
      onYes=${() => end.run("all")} onClose=${() => setAsking(false)} />`}
  </section>`;
}

/** Returns a device from a User-Agent, like "Chrome on Linux". @param {string} agent */
function browser(agent) {
  const name = /Firefox|Edg|OPR|Chrome|Safari|curl/.exec(agent)?.[0] ?? "";
  const system = /Windows|Android|iPhone|iPad|Mac OS X|Linux/.exec(agent)?.[0] ?? "";
  const known = [{ Edg: "Edge", OPR: "Opera" }[name] ?? name, { "Mac OS X": "macOS" }[system] ?? system].filter(Boolean);
  return known.length === 2 ? F("%s on %s", ...known) : known[0] || agent.slice(0, 40) || T("Unknown device");
}

function Copy() {
  const { stepUp, dialog } = useStepUp();
  const load = useAction(async () => {
    const { response } = await stepUp("POST", `${identity}/profile/export`, {}, "application/zip");
    await saveBody(response, "export.zip");
  });
  return html`<section class="card stack"><h2>${T("Your data")}</h2>
    <p class="dim">
      ${T("A copy of everything we store about you: profile, addresses, sessions, memberships, mailbox, transfers and activity. Files aren’t included.")}</p>
    <${Problem} error=${load.error} />
    <div><${Button} icon="download" busy=${load.busy} onClick=${() => load.run()}>${T("Download your data")}<//></div>
    ${dialog}
  </section>`;
}

function Leave() {
  const [asking, setAsking] = useState(false);
  const { stepUp, dialog } = useStepUp();
  const remove = useAction(async () => {
    await stepUp("DELETE", `${identity}/profile`);
    await forget();
    location.assign("/");
  });
  return html`<section class="card stack"><h2>${T("Delete account")}</h2>
    <p class="dim">
      ${T("Your profile, your mailbox and what you have received are removed for good. What you have sent stays with its recipients until it expires.")}</p>
    <${Problem} error=${remove.error} />
    <div><${Button} kind="danger" icon="trash" busy=${remove.busy} onClick=${() => setAsking(true)}>${T("Delete account")}<//></div>
    ${asking && html`<${Ask} question=${T("Delete your account and everything in it? This cannot be undone.")} yes=${T("Delete account")}
      onYes=${remove.run} onClose=${() => setAsking(false)} />`}
    ${dialog}
  </section>`;
}
