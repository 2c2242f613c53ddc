// The organization page: members with their roles and state, and invitations.

import { Ask, Button, Check, Copy, Field, Form, Problem, Tool, Waiting, html, useAction, useLoaded, useState } from "./ui.js";
import { F, N, T, when } from "./i18n.js";
import { own } from "./api.js";
import { Listed, Nothing, Search, useList } from "./lists.js";
import { usePlace } from "./place.js";
import { offered, roleName } from "./roles.js";
import { useStepUp } from "./stepup.js";

const inWords = (roles) => roles.map(roleName).join(" · ");

/** Lists the members and invitations. @param {{at: OrganizationPath}} props URL of the organization */
export function Members({ at }) {
  const [{ search }, go] = usePlace("#members", { search: "" });
  const list = useList(own, `${at}/people?${new URLSearchParams(search ? { search } : {})}`, "people");
  const { value: total, reload: recount } = useLoaded(async () => (await own("GET", `${at}/limits`)).body.members, [at]);
  const reload = () => {
    list.reload();
    recount();
  };
  return html`<section class="card stack wide"><h2>${total === undefined ? T("Members") : N("%d member", "%d members", total)}</h2>
      ${(search || (total ?? 0) > 8) && html`<${Search} label=${T("Name, address or reference contains")} value=${search}
        onSearch=${(/** @type {string} */ text) => go({ search: text })} refused=${list.error} />`}
      ${list.items ? html`<${People} at=${at} list=${list} onDone=${reload} />` : html`<${Waiting} error=${list.error} />`}
    </section>
    <${Invitations} at=${at} />`;
}

/**
 * @param {{at: OrganizationPath, list: import("./lists.js").List<IdentityAPI["SeenMemberList"]["people"][number]>, onDone: () => void}}
 *  props
 */
const People = ({ at, list, onDone }) => html`<${Problem} error=${list.error} />
  ${list.items?.length === 0 && html`<${Nothing} sentence=${list.hasMore ? T("None of the first ones matches.")
    : T("Nothing matches.")} />`}
  <ul class="list rows">${list.items?.map((m) => html`<${Member} key=${m.uid} at=${at} of=${m} onDone=${onDone} />`)}</ul>
  <${Listed} of=${list} />`;

/**
 * A member, with changes.
 * @param {{at: OrganizationPath, of: IdentityAPI["SeenMemberList"]["people"][number], onDone: () => void}} props
 */
function Member({ at, of: m, onDone }) {
  const [open, setOpen] = useState(false);
  const [asking, setAsking] = useState("");
  const { stepUp, dialog } = useStepUp();
  const change = useAction(async (roles) => {
    await stepUp("PUT", `${at}/members/${m.uid}`, { roles, reference: m.reference, externalUid: m.externalUid });
    setOpen(false);
    onDone();
  });
  const remove = useAction(async () => {
    await stepUp("DELETE", `${at}/members/${m.uid}`);
    onDone();
  });
  const end = useAction(async () => {
    await own("POST", `${at}/members/${m.uid}/end-sessions`);
    onDone();
  });
  const label = m.name || m.email || m.reference || m.externalUid || m.uid;
  const used = [m.usedAt ? F("Last used %s", when(m.usedAt)) : T("Never signed in"),
    N("%d session", "%d sessions", m.sessions)].join(" · ");
  return html`<li>
    <div class="row between">
      <span><b class="break">${label}</b> <${Marks} of=${m} />${m.name && html`<span class="hint block break">${m.email}</span>`}
        <span class="hint block">${inWords(m.roles)}</span><span class="hint block">${used}</span></span>
      <span class="row">
        <${Button} kind="quiet" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${T("Permissions")}<//>
        <${Button} kind="quiet" busy=${end.busy} onClick=${() => setAsking("end")}>${T("End all sessions")}<//>
        <${Tool} icon="trash" label=${F("Remove %s", label)} onClick=${() => setAsking("remove")} />
      </span>
    </div>
    <${Problem} error=${change.error ?? remove.error ?? end.error} />
    ${open && html`<${MemberRoles} value=${m.roles} busy=${change.busy} onSave=${change.run} />`}
    ${asking === "remove" && html`<${Ask} question=${F("Remove %s from the organization?", label)} yes=${T("Remove")}
      onYes=${() => remove.run()} onClose=${() => setAsking("")} />`}
    ${asking === "end" && html`<${Ask} question=${F("End all sessions of %s and delete the API tokens?", label)}
      yes=${T("End all sessions")} onYes=${() => end.run()} onClose=${() => setAsking("")} />`}
    ${dialog}
  </li>`;
}

/**
 * What stands out about a member. Providers of others ask for second factors themselves.
 * @param {{of: IdentityAPI["SeenMemberList"]["people"][number]}} props
 */
const Marks = ({ of: m }) => html`${!m.verified && html`<span class="badge warn">${T("Address not verified")}</span> `}
  ${m.hasFactor && html`<span class="badge good">${T("Second factor")}</span> `}
  ${m.externalIdentityProvider && html`<span class="badge">${T("Signs in at a provider")}</span>`}`;

/** Checkboxes for roles. */
function Permissions({ value, onValue, only = () => true }) {
  const tick = (role) => (e) => onValue(e.target.checked ? [...value, role] : value.filter((other) => other !== role));
  return html`<fieldset class="plain tight"><legend>${T("Permissions")}</legend>
    ${offered().filter(only).map((role) => html`<${Check} key=${role} label=${roleName(role)} checked=${value.includes(role)}
      onChange=${tick(role)} />`)}
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

/** @param {{at: OrganizationPath}} props */
function Invitations({ at }) {
  const { value, error, reload } = useLoaded(async () => (await own("GET", `${at}/invitations`)).body.invitations, [at]);
  const [address, setAddress] = useState("");
  const [shared, setShared] = useState(false);
  const [roles, setRoles] = useState(usual);
  const { stepUp, dialog } = useStepUp();
  const invite = useAction(async () => {
    await stepUp("POST", `${at}/invitations`, shared ? { shared: true, roles } : { address: address.trim(), roles });
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
  const link = (/** @type {IdentityAPI["Invitation"]} */ i) => `${location.origin}/invitation/${i.key}`;
  return html`<section class="card stack"><h2>${T("Invite")}</h2>
    <${Form} onSend=${() => invite.run()} refused=${invite.error}>
      ${!shared && html`<${Field} label=${T("Email address")} type="email" name="address" required value=${address}
        onInput=${(e) => setAddress(e.target.value)} />`}
      <${Check} label=${T("A link that anybody can use")} checked=${shared} onChange=${share} />
      <${Permissions} value=${roles} onValue=${setRoles} only=${(role) => !shared || forAll(role)} />
      <${Problem} error=${invite.error || revoke.error || error} />
      <div><${Button} type="submit" kind="primary" busy=${invite.busy}>${shared ? T("Make the link") : T("Invite")}<//></div>
    <//>
    ${value && value.length > 0 && html`<h3>${T("Open invitations")}</h3>
      <ul class="list rows">${value.map((i) => html`<li key=${i.key} class="row between">
        <span><b class="break">${i.address ?? (i.shared ? T("A link that anybody can use") : T("Invitation"))}</b>
          <span class="hint block">${inWords(i.roles)}</span></span>
        <span class="row"><${Copy} text=${link(i)} label=${T("Copy the link")} />
          <${Button} kind="quiet" busy=${revoke.busy} onClick=${() => revoke.run(i.key)}>${T("Revoke")}<//></span>
      </li>`)}</ul>`}
    ${dialog}
  </section>`;
}
