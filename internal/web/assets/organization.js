// /organization: navigation between its parts, each in a module of its own. Without the permission, a part is read-only.

import {
  Ask, Button, Field, Form, Problem, Unloaded, Waiting, hasUnsaved, html, showOwn, useAction, useListeners, useLoaded, useState,
} from "./ui.js";
import { T } from "./i18n.js";
import { accessClaims, identity, own } from "./api.js";
import { APITokens } from "./apitokens.js";
import { Profile } from "./organization-profile.js";
import { Members } from "./organization-members.js";
import { Security } from "./organization-security.js";
import { Groups } from "./organization-groups.js";
import { LegalHolds } from "./organization-holds.js";
import { Mailboxes, Transfers } from "./organization-lists.js";
import { Documents, Settings, Usage } from "./organization-transfers.js";
import { Webhooks } from "./webhooks.js";
import "./shell.js";

showOwn(() => {
  const { value, error } = useLoaded(async () => {
    const said = await accessClaims();
    const uid = Object.entries(said).find(([name]) => name.endsWith("/org_id"))?.[1];
    const { body: profile } = await own("GET", `${identity}/profile`);
    return { uid, roles: said.roles ?? [], free: profile.membership?.organization?.selfSignup ?? true };
  });
  if (error) return html`<${Unloaded} title=${T("Your organization")} error=${error} />`;
  if (!value) return html`<${Waiting} />`;
  const admin = value.roles.includes("Organization.Admin");
  return value.uid && (!value.free || admin) ? html`<${Organization} ...${value} admin=${admin} />` : html`<${Create} />`;
});

function Create() {
  const create = useAction(async ({ name }) => {
    await own("POST", `${identity}/organizations`, { json: { name: name.trim() } });
    location.reload();
  });
  return html`<div class="narrow card">
    <h1>${T("Create an organization")}</h1>
    <p class="dim">${T("An organization has its own members, groups, limits and look.")}</p>
    <${Form} onSend=${create.run}>
      <${Field} label=${T("Name")} name="name" required maxlength="120" />
      <${Problem} error=${create.error} />
      <${Button} type="submit" kind="primary" busy=${create.busy}>${T("Create an organization")}<//>
    <//>
  </div>`;
}

const Tokens = ({ at }) => html`<${APITokens} organization=${at.split("/").pop()} />`;
const Hooks = ({ at }) => html`<${Webhooks} organization=${at.split("/").pop()} />`;

/**
 * Returns the visible parts as [fragment of the URL, label, component]. People without an organization share the limits of the free one.
 * It has no lists of mailboxes and transfers.
 * @param {boolean} admin @param {boolean} free @param {string[]} roles @returns {any[]}
 */
function partsFor(admin, free, roles) {
  const reader = admin || roles.some((role) => role.startsWith("Contract."));
  return [
    ["profile", T("Profile"), Profile, true],
    ["members", T("Members"), Members, admin],
    ["mailboxes", T("Mailboxes"), Mailboxes, admin && !free],
    ["groups", T("Groups"), Groups, admin],
    ["transfers", T("Transfers"), Transfers, admin && !free],
    ["holds", T("Legal holds"), LegalHolds, admin && !free],
    ["settings", T("Rules for transfers"), Settings, admin],
    ["security", T("Security"), Security, admin],
    ["tokens", T("API tokens"), Tokens, admin],
    ["webhooks", T("Webhooks"), Hooks, admin],
    ["usage", T("Usage"), Usage, true],
    ["documents", T("Documents"), Documents, reader],
  ].filter(([, , , may]) => may);
}

function Organization({ uid, admin, free, roles }) {
  const parts = partsFor(admin, free, roles);
  const chosen = () => parts.find(([name]) => `#${name}` === location.hash.split(/[/?]/)[0]) ?? parts[0];
  const [[part, , Part], setPart] = useState(chosen);
  const [wanted, setWanted] = useState(/** @type {any[] | null} */ (null));
  useListeners({ hashchange: () => {
    if (!hasUnsaved()) return setPart(chosen());
    if (chosen()[0] === part) return;
    setWanted(chosen());
    history.replaceState(null, "", `#${part}`);
  } });
  const leave = () => {
    setPart(/** @type {any[]} */ (wanted));
    history.replaceState(null, "", `#${wanted?.[0]}`);
  };
  const link = ([name, label]) => html`<a href=${`#${name}`} aria-current=${part === name ? "true" : undefined}>${label}</a>`;
  return html`<h1>${T("Your organization")}</h1>
    <nav class="parts" aria-label=${T("Organization")}>${parts.map(link)}</nav>
    <div class="stack sections"><${Part} key=${part} at=${`${identity}/organizations/${uid}`} admin=${admin} free=${free} /></div>
    ${wanted && html`<${Ask} question=${T("Leave without saving? Your changes will be lost.")} yes=${T("Leave")}
      onYes=${leave} onClose=${() => setWanted(null)} />`}`;
}
