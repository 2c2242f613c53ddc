// /organization: its profile and look, members and invitations, groups of mailboxes, settings, usage and documents. What
// somebody may not change is shown without a way to change it.

import { Ask, Button, Check, Copy, Field, Form, Icon, Notice, Problem, announce, html, show, useAction, useEffect, useLoaded, useState } from "./ui.js";
import { F, N, T, bytes, languageName, percent } from "./words.js";
import { accessClaims, identity, own, signInFirst, signedIn, transfer } from "./api.js";
import { members } from "./refusals.js";
import { offered, roleName } from "./roles.js";
import { Picture } from "./avatar.js";
import "./shell.js";

const locales = ["de_DE", "en_US", "fr_FR", "ru_RU", "ko_KR", "zh_CN", "zh_TW", "ja_JP"];
const zones = (now) => [...new Set([...(now ? [now] : []), "UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])])];

if (signedIn()) {
  show(() => {
    const { value, error } = useLoaded(async () => {
      const said = await accessClaims();
      const uid = Object.entries(said).find(([name]) => name.endsWith("/org_id"))?.[1];
      const { body: profile } = await own("GET", `${identity}/profile`);
      return { uid, profile, roles: said.roles ?? [], free: profile.membership?.organization?.selfSignup ?? true };
    });
    if (error) return html`<h1>${T("Your organization")}</h1><${Problem} error=${error} />`;
    if (!value) return html`<p class="loading" role="status">${T("One moment…")}</p>`;
    const admin = value.roles.includes("Organization.Admin");
    return value.uid && (!value.free || admin) ? html`<${Organization} ...${value} admin=${admin} />` : html`<${Create} />`;
  });
} else signInFirst();

function Create() {
  const create = useAction(async ({ name }) => {
    await own("POST", `${identity}/organizations`, { json: name.trim() ? { name: name.trim() } : {} });
    location.reload();
  });
  return html`<div class="narrow card"><h1>${T("Create an organization")}</h1>
    <p class="dim">${T("An organization has its own members, groups, limits and look.")}</p>
    <${Form} onSend=${create.run}><${Field} label=${T("Name")} name="name" required maxlength="120" /><${Problem} error=${create.error} />
    <${Button} type="submit" kind="primary" busy=${create.busy}>${T("Create an organization")}<//><//></div>`;
}

function Organization({ uid, admin, free, roles }) {
  const at = `${identity}/organizations/${uid}`;
  const reader = admin || roles.some((role) => role.startsWith("Contract."));
  const parts = [["profile", T("Profile"), true, Profile], ["members", T("Members"), admin, Members], ["groups", T("Groups"), admin, Groups],
    ["settings", T("Transfers"), admin, Settings], ["usage", T("Usage"), true, Usage], ["documents", T("Documents"), reader, Documents]].filter(([, , may]) => may);
  const chosen = () => parts.find(([name]) => `#${name}` === location.hash) ?? parts[0];
  const [[part, , , Part], setPart] = useState(chosen);
  useEffect(() => {
    const turn = () => setPart(chosen());
    addEventListener("hashchange", turn);
    return () => removeEventListener("hashchange", turn);
  }, []);
  return html`<h1>${T("Your organization")}</h1>
    <nav class="parts" aria-label=${T("Organization")}>${parts.map(([name, label]) => html`<a href=${`#${name}`} aria-current=${part === name ? "true" : undefined}>${label}</a>`)}</nav>
    <div class="stack sections"><${Part} at=${at} uid=${uid} admin=${admin} free=${free} /></div>`;
}

/** The state of something that is loaded, or how that went. */
const Waiting = ({ error }) => (error ? html`<${Problem} error=${error} />` : html`<p class="loading" role="status">${T("One moment…")}</p>`);

const Saved = ({ action, saved }) => html`<${Problem} error=${action.error} />
  <div class="row"><${Button} type="submit" kind="primary" busy=${action.busy}>${T("Save")}<//>${saved && html`<span class="saved" role="status">${T("Saved")}</span>`}</div>`;

function Profile({ at, admin, free, uid }) {
  const { value, error } = useLoaded(async () => (await own("GET", at)).body, [at]);
  const [saved, setSaved] = useState(false);
  const save = useAction(async (input) => {
    const filled = Object.fromEntries(Object.entries(input).filter(([name, v]) => v !== "" || name === "name"));
    await own("PUT", `${at}/profile`, { json: { ...value.profile, ...blank, ...filled } });
    setSaved(true);
    announce(T("Saved"));
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const p = value.profile;
  const labels = { name: T("Name"), addressLine1: T("Address"), addressLine2: T("Address, second line"), postCode: T("Postal code"), city: T("City"), state: T("State or province"), country: T("Country"),
    phoneNumber: T("Telephone"), hostname: T("Hostname"), legalNoticeUrl: T("Legal notice (link)"), privacyPolicyUrl: T("Privacy policy (link)") };
  const blank = Object.fromEntries(Object.keys(labels).filter((name) => name !== "hostname").map((name) => [name, undefined]));
  if (!admin) {
    return html`<section class="card stack"><h2>${p.name}</h2><dl class="facts">${Object.entries(labels).filter(([name]) => p[name]).map(([name, label]) => html`<dt>${label}</dt><dd>${p[name]}</dd>`)}</dl></section>
      ${!free && html`<${Leave} at=${at} admin=${admin} />`}`;
  }
  const wrong = members(save.error);
  return html`<section class="card stack"><h2>${T("Profile")}</h2>
    <${Picture} url=${`${at}/avatar`} name=${p.name ?? ""} has=${value.hasAvatar} label=${T("The logo, shown at the top of every page.")} />
    <${Form} onSend=${save.run} onInput=${() => setSaved(false)}>
      ${[["name"], ["addressLine1", "addressLine2"], ["postCode", "city"], ["state", "country"], ["phoneNumber", "hostname"], ["legalNoticeUrl", "privacyPolicyUrl"]].map((names) => html`<div class="pair">${names.map((name) => html`
        <${Field} key=${name} label=${labels[name]} name=${name} value=${p[name] ?? ""} maxlength="250" type=${name.endsWith("Url") ? "url" : "text"} error=${wrong[name] && T("Please check this.")} />`)}</div>`)}
      <div class="pair">
        <${Field} label=${T("Language")} name="locale" as="select">${locales.map((l) => html`<option value=${l} selected=${l === p.locale}>${languageName(l)}</option>`)}<//>
        <${Field} label=${T("Time zone")} name="timeZone" as="select">${zones(p.timeZone).map((z) => html`<option value=${z} selected=${z === p.timeZone}>${z.replaceAll("_", " ")}</option>`)}<//>
      </div>
      <${Field} label=${T("Signature under messages")} optional name="globalSignature" as="textarea" rows="3" value=${p.globalSignature ?? ""} />
      <${Saved} action=${save} saved=${saved} />
    <//></section>
    <${Theme} at=${at} uid=${uid} />
    ${!free && html`<${Leave} at=${at} admin=${admin} />`}`;
}

function Theme({ at }) {
  const [saved, setSaved] = useState(false);
  const brand = getComputedStyle(document.documentElement).getPropertyValue("--brand").trim() || "#0d6e62";
  const save = useAction(async ({ primaryColor, backgroundColor }) => {
    await own("PUT", `${at}/theme`, { json: { primaryColor, backgroundColor } });
    document.documentElement.style.setProperty("--brand", primaryColor);
    setSaved(true);
  });
  const reset = useAction(async () => {
    await own("DELETE", `${at}/theme`);
    location.reload();
  });
  return html`<section class="card stack"><h2>${T("Colours")}</h2>
    <p class="hint">${T("Lightness is adapted so that everything stays readable.")}</p>
    <${Form} onSend=${save.run}>
      <div class="pair"><${Field} label=${T("Accent")} name="primaryColor" type="color" value=${brand} onInput=${(e) => document.documentElement.style.setProperty("--brand", e.target.value)} />
      <${Field} label=${T("Background")} name="backgroundColor" type="color" value="#f6f7f6" /></div>
      <${Saved} action=${save} saved=${saved} />
      <div><${Button} kind="quiet" busy=${reset.busy} onClick=${() => reset.run()}>${T("Back to the usual colours")}<//></div>
    <//></section>`;
}

function Leave({ at, admin }) {
  const [asking, setAsking] = useState("");
  const act = useAction(async () => {
    await (asking === "delete" ? own("DELETE", at) : own("POST", `${at}/leave`));
    location.assign("/account");
  });
  return html`<section class="card stack"><h2>${T("Leave")}</h2><${Problem} error=${act.error} />
    <div class="row"><${Button} kind="danger" busy=${act.busy} onClick=${() => setAsking("leave")}>${T("Leave the organization")}<//>
    ${admin && html`<${Button} kind="danger" icon="trash" busy=${act.busy} onClick=${() => setAsking("delete")}>${T("Delete the organization")}<//>`}</div>
    ${asking && html`<${Ask} question=${asking === "delete" ? T("Delete the organization with its groups and settings? Its members keep their mailboxes.") : T("Leave the organization? You lose the permissions it has given you.")}
      yes=${asking === "delete" ? T("Delete the organization") : T("Leave the organization")} onYes=${act.run} onClose=${() => setAsking("")} />`}</section>`;
}

function Members({ at }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${at}/members`)).body.members, [at]);
  const [open, setOpen] = useState("");
  const [asking, setAsking] = useState(/** @type {any} */ (null));
  const change = useAction(async (m, roles) => {
    await own("PUT", `${at}/members/${m.uid}`, { json: { roles, reference: m.reference, externalUid: m.externalUid } });
    reload();
  });
  const remove = useAction(async (m) => {
    await own("DELETE", `${at}/members/${m.uid}`);
    reload();
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const label = (m) => m.name || m.email || m.reference || m.externalUid || m.uid;
  return html`<section class="card stack"><h2>${N("%d member", "%d members", value.length)}</h2>
    <${Problem} error=${change.error ?? remove.error} />
    <ul class="list rows">${value.map((m) => html`<li key=${m.uid}>
      <div class="row between"><span><b class="break">${label(m)}</b><span class="hint block">${m.roles.map(roleName).join(" · ")}</span></span>
        <span class="row"><${Button} kind="quiet" aria-expanded=${String(open === m.uid)} onClick=${() => setOpen(open === m.uid ? "" : m.uid)}>${T("Permissions")}<//>
        <button type="button" class="button icon-only" aria-label=${F("Remove %s", label(m))} onClick=${() => setAsking(m)}><${Icon} name="trash" /></button></span></div>
      ${open === m.uid && html`<${Roles} value=${m.roles} busy=${change.busy} onSave=${(roles) => change.run(m, roles)} />`}</li>`)}</ul>
    ${asking && html`<${Ask} question=${F("Remove %s from the organization?", label(asking))} yes=${T("Remove")} onYes=${() => remove.run(asking)} onClose=${() => setAsking(null)} />`}
  </section><${Invitations} at=${at} />`;
}

function Roles({ value, onSave, busy, only = () => true, save = T("Save") }) {
  const [roles, setRoles] = useState(value);
  return html`<div class="stack tight roles">${offered().filter(only).map((role) => html`<${Check} key=${role} label=${roleName(role)} checked=${roles.includes(role)}
    onChange=${(e) => setRoles(e.target.checked ? [...roles, role] : roles.filter((r) => r !== role))} />`)}
    <div><${Button} kind="primary" busy=${busy} onClick=${() => onSave(roles)}>${save}<//></div></div>`;
}

function Invitations({ at }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${at}/invitations`)).body.invitations, [at]);
  const [address, setAddress] = useState("");
  const [shared, setShared] = useState(false);
  const invite = useAction(async (roles) => {
    await own("POST", `${at}/invitations`, { json: shared ? { shared: true, roles } : { address: address.trim(), roles } });
    setAddress("");
    reload();
  });
  const revoke = useAction(async (key) => {
    await own("DELETE", `${at}/invitations/${key}`);
    reload();
  });
  const link = (i) => `${location.origin}/invitation/${i.key}`;
  return html`<section class="card stack"><h2>${T("Invite")}</h2>
    <${Check} label=${T("A link that anybody can use")} checked=${shared} onChange=${(e) => setShared(e.target.checked)} />
    ${!shared && html`<${Field} label=${T("Email address")} type="email" value=${address} onInput=${(e) => setAddress(e.target.value)} error=${members(invite.error).address && T("This is not an email address that can be used.")} />`}
    <${Roles} key=${String(shared)} value=${["Service.Transfer.Use"]} only=${(role) => !shared || role.startsWith("Service.")} busy=${invite.busy} onSave=${invite.run} save=${shared ? T("Make the link") : T("Invite")} />
    <${Problem} error=${invite.error ?? revoke.error ?? error} />
    ${value?.length > 0 && html`<h3>${T("Open invitations")}</h3><ul class="list rows">${value.map((i) => html`<li key=${i.key} class="row between">
      <span><b class="break">${i.address ?? (i.shared ? T("A link that anybody can use") : T("Invitation"))}</b><span class="hint block">${i.roles.map(roleName).join(" · ")}</span></span>
      <span class="row"><${Copy} text=${link(i)} label=${T("Copy the link")} /><${Button} kind="quiet" busy=${revoke.busy} onClick=${() => revoke.run(i.key)}>${T("Revoke")}<//></span></li>`)}</ul>`}
  </section>`;
}

function Groups() {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${transfer}/mailboxgroups`)).body.mailboxgroups);
  const [editing, setEditing] = useState(/** @type {any} */ (null));
  const [asking, setAsking] = useState(/** @type {any} */ (null));
  const save = useAction(async ({ name, description, vanityLink, mailboxes }) => {
    const mailboxUids = await Promise.all(mailboxes.split(/[\s,;]+/).filter(Boolean).map(mailboxUid));
    const json = { name, mailboxUids, ...(description ? { description } : {}), ...(vanityLink ? { vanityLink } : {}) };
    await (editing.uid ? own("PUT", `${transfer}/mailboxgroups/${editing.uid}`, { json }) : own("POST", `${transfer}/mailboxgroups`, { json }));
    setEditing(null);
    reload();
  });
  const remove = useAction(async (uid) => {
    await own("DELETE", `${transfer}/mailboxgroups/${uid}`);
    reload();
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const wrong = members(save.error);
  return html`<section class="card stack"><h2>${T("Groups of mailboxes")}</h2>
    <p class="hint">${T("A group has one link, behind which people choose whom their files are for.")}</p>
    <ul class="list rows">${value.map((g) => html`<li key=${g.uid} class="row between">
      <span><b>${g.name}</b><span class="hint block"><a href=${`/g/${g.vanityLink || g.uid}`}>${`${location.origin}/g/${g.vanityLink || g.uid}`}</a></span></span>
      <span class="row"><${Button} kind="quiet" onClick=${() => setEditing(g)}>${T("Edit")}<//><button type="button" class="button icon-only" aria-label=${F("Remove %s", g.name)} onClick=${() => setAsking(g)}><${Icon} name="trash" /></button></span></li>`)}</ul>
    <${Problem} error=${remove.error} />
    ${editing ? html`<${Form} key=${editing.uid ?? "new"} onSend=${save.run}>
      <${Field} label=${T("Name")} name="name" required maxlength="120" value=${editing.name ?? ""} />
      <${Field} label=${T("Description")} optional name="description" maxlength="500" value=${editing.description ?? ""} />
      <${Field} label=${T("Name in the link")} optional name="vanityLink" autocapitalize="none" spellcheck="false" value=${editing.vanityLink ?? ""} error=${wrong.vanityLink && T("Please check this.")} />
      <${Field} label=${T("Mailboxes")} name="mailboxes" as="textarea" rows="3" required hint=${T("Their names, separated by commas or spaces.")} value=${(editing.mailboxes ?? []).map((m) => m.vanityLink || m.uid).join(", ")} />
      <${Problem} error=${save.error} />
      <div class="row"><${Button} type="submit" kind="primary" busy=${save.busy}>${T("Save")}<//><${Button} onClick=${() => setEditing(null)}>${T("Cancel")}<//></div><//>`
      : html`<div><${Button} icon="plus" onClick=${() => setEditing({})}>${T("Add a group")}<//></div>`}
    ${asking && html`<${Ask} question=${F("Remove the group %s? Its link stops working.", asking.name)} yes=${T("Remove")} onYes=${() => remove.run(asking.uid)} onClose=${() => setAsking(null)} />`}
  </section>`;
}

/** The uid of a mailbox by its name or uid. @param {string} name */
const mailboxUid = async (name) => (/^[0-9a-f-]{36}$/i.test(name) ? name : (await own("GET", `${transfer}/public/mailbox/${encodeURIComponent(name.toLowerCase())}`)).body.uid);

function Settings() {
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/adminunit`)).body);
  const [saved, setSaved] = useState(false);
  const save = useAction(async (input) => {
    const json = { availableTtl: input.availableTtl.split(/[\s,;]+/).filter(Boolean).map(Number), defaultTtl: Number(input.defaultTtl), priorityEnabled: input.priorityEnabled === "on", protectionLevel: input.protectionLevel,
      maxFiles: Number(input.maxFiles), maxFileSizeMb: Number(input.maxFileSizeMb), maxRecipients: Number(input.maxRecipients) };
    await own("PUT", `${transfer}/adminunit`, { json });
    setSaved(true);
    announce(T("Saved"));
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const wrong = members(save.error);
  const number = (name, label) => html`<${Field} label=${label} name=${name} type="number" min="1" required value=${value[name]} error=${wrong[name] && T("Please check this.")} />`;
  return html`<section class="card"><${Form} onSend=${save.run} onInput=${() => setSaved(false)}>
    <h2>${T("Rules for transfers")}</h2>
    <div class="pair"><${Field} label=${T("Periods to choose from, in days")} name="availableTtl" required value=${value.availableTtl.join(", ")} error=${wrong.availableTtl && T("Please check this.")} />${number("defaultTtl", T("Usual period, in days"))}</div>
    <${Field} label=${T("Least protection")} name="protectionLevel" as="select">${[["none", T("The link is enough")], ["password", T("Password")], ["recipientAuthentication", T("A code sent to each recipient")]].map(([v, name]) => html`<option value=${v} selected=${v === value.protectionLevel}>${name}</option>`)}<//>
    <div class="pair">${number("maxFiles", T("Files at once"))}${number("maxFileSizeMb", T("Largest file, in MB"))}${number("maxRecipients", T("Recipients at most"))}</div>
    <${Check} label=${T("Senders may set a priority")} name="priorityEnabled" checked=${value.priorityEnabled} />
    <${Saved} action=${save} saved=${saved} /><//></section>`;
}

function Usage() {
  const { value, error } = useLoaded(async () => (await own("GET", `${transfer}/usage`)).body);
  if (!value) return html`<${Waiting} error=${error} />`;
  const meter = (label, used, limit) => html`<div class="usage"><div class="row between"><strong>${label}</strong><span>${limit ? F("%s of %s", bytes(used), bytes(limit)) : bytes(used)}</span></div>
    ${limit ? html`<progress class=${used / limit >= 0.9 ? "full" : ""} max="1" value=${Math.min(1, used / limit)} aria-label=${label}></progress><span class="hint">${percent(Math.min(1, used / limit))}</span>` : html`<span class="hint">${T("No limit")}</span>`}</div>`;
  return html`<section class="card stack"><h2>${F("Usage in %s", value.month)}</h2>
    ${meter(T("Received and sent by you"), value.uploadBytes, value.uploadLimitBytes)}
    ${value.organizationBytes !== null && value.organizationBytes !== undefined && meter(T("By the whole organization"), value.organizationBytes, value.organizationLimitBytes)}</section>`;
}

function Documents({ at }) {
  const get = useAction(async () => {
    const { response } = await own("GET", `${at}/documents?type=dataProcessing&domain=skp`, { accept: "application/pdf" });
    const name = /filename="?([^";]+)/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "data-processing.pdf";
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await response.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  });
  return html`<section class="card stack"><h2>${T("Documents")}</h2><p>${T("The agreement on data processing between the provider and your organization, filled in from its profile.")}</p>
    ${get.error?.status === 403 ? html`<${Notice} kind="warn">${T("The document needs an active subscription and a complete profile.")}<//>` : html`<${Problem} error=${get.error} />`}
    <div><${Button} icon="download" busy=${get.busy} onClick=${() => get.run()}>${T("Data processing agreement (PDF)")}<//></div></section>`;
}
