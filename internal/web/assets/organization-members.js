// The organization page: members with their roles, and invitations.

import { Ask, Button, Check, Copy, Field, Form, Problem, Tool, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, N, T } from "./i18n.js";
import { own } from "./api.js";
import { offered, roleName } from "./roles.js";

const inWords = (roles) => roles.map(roleName).join(" · ");

/** Lists the members and invitations. @param {{at: string}} props URL of the organization */
export function Members({ at }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${at}/members`)).body.members, [at]);
  const [open, setOpen] = useState("");
  const [asking, setAsking] = useState(/** @type {any} */ (null));
  const change = useAction(async (m, roles) => {
    await own("PUT", `${at}/members/${m.uid}`, { json: { roles, reference: m.reference, externalUid: m.externalUid } });
    setOpen("");
    reload();
  });
  const remove = useAction(async (m) => {
    await own("DELETE", `${at}/members/${m.uid}`);
    reload();
  });
  if (!value) return html`<${Waiting} error=${error} />`;
  const label = (m) => m.name || m.email || m.reference || m.externalUid || m.uid;
  const row = (m) => html`<li key=${m.uid}>
    <div class="row between">
      <span><b class="break">${label(m)}</b><span class="hint block">${inWords(m.roles)}</span></span>
      <span class="row">
        <${Button} kind="quiet" aria-expanded=${String(open === m.uid)} onClick=${() => setOpen(open === m.uid ? "" : m.uid)}>${T("Permissions")}<//>
        <${Tool} icon="trash" label=${F("Remove %s", label(m))} onClick=${() => setAsking(m)} />
      </span>
    </div>
    ${open === m.uid && html`<${MemberRoles} value=${m.roles} busy=${change.busy} onSave=${(roles) => change.run(m, roles)} />`}
  </li>`;
  return html`<section class="card stack"><h2>${N("%d member", "%d members", value.length)}</h2>
      <${Problem} error=${change.error ?? remove.error} />
      <ul class="list rows">${value.map(row)}</ul>
      ${asking && html`<${Ask} question=${F("Remove %s from the organization?", label(asking))} yes=${T("Remove")}
        onYes=${() => remove.run(asking)} onClose=${() => setAsking(null)} />`}
    </section>
    <${Invitations} at=${at} />`;
}

/** Checkboxes for roles. */
function Permissions({ value, onValue, only = () => true }) {
  const tick = (role) => (e) => onValue(e.target.checked ? [...value, role] : value.filter((other) => other !== role));
  return html`<fieldset class="plain tight"><legend>${T("Permissions")}</legend>
    ${offered().filter(only).map((role) => html`<${Check} key=${role} label=${roleName(role)} checked=${value.includes(role)} onChange=${tick(role)} />`)}
  </fieldset>`;
}

function MemberRoles({ value, onSave, busy }) {
  const [roles, setRoles] = useState(value);
  return html`<${Form} class="roles" onSend=${() => onSave(roles)}>
    <${Permissions} value=${roles} onValue=${setRoles} />
    <div><${Button} type="submit" kind="primary" busy=${busy}>${T("Save")}<//></div>
  <//>`;
}

const usual = ["Service.Transfer.Use"];

function Invitations({ at }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${at}/invitations`)).body.invitations, [at]);
  const [address, setAddress] = useState("");
  const [shared, setShared] = useState(false);
  const [roles, setRoles] = useState(usual);
  const invite = useAction(async () => {
    await own("POST", `${at}/invitations`, { json: shared ? { shared: true, roles } : { address: address.trim(), roles } });
    setAddress("");
    setRoles(usual);
    reload();
  });
  const revoke = useAction(async (key) => {
    await own("DELETE", `${at}/invitations/${key}`);
    reload();
  });
  const forAll = (role) => role.startsWith("Service."); // the roles that a shared invitation can grant
  const share = (event) => {
    setShared(event.target.checked);
    setRoles(roles.filter(forAll));
  };
  const link = (i) => `${location.origin}/invitation/${i.key}`;
  return html`<section class="card stack"><h2>${T("Invite")}</h2>
    <${Form} onSend=${() => invite.run()} refused=${invite.error}>
      ${!shared && html`<${Field} label=${T("Email address")} type="email" name="address" required value=${address}
        onInput=${(e) => setAddress(e.target.value)} />`}
      <${Check} label=${T("A link that anybody can use")} checked=${shared} onChange=${share} />
      <${Permissions} value=${roles} onValue=${setRoles} only=${(role) => !shared || forAll(role)} />
      <${Problem} error=${invite.error || revoke.error || error} />
      <div><${Button} type="submit" kind="primary" busy=${invite.busy}>${shared ? T("Make the link") : T("Invite")}<//></div>
    <//>
    ${value?.length > 0 && html`<h3>${T("Open invitations")}</h3>
      <ul class="list rows">${value.map((i) => html`<li key=${i.key} class="row between">
        <span><b class="break">${i.address ?? (i.shared ? T("A link that anybody can use") : T("Invitation"))}</b>
          <span class="hint block">${inWords(i.roles)}</span></span>
        <span class="row"><${Copy} text=${link(i)} label=${T("Copy the link")} />
          <${Button} kind="quiet" busy=${revoke.busy} onClick=${() => revoke.run(i.key)}>${T("Revoke")}<//></span>
      </li>`)}</ul>`}
  </section>`;
}
