// The members of an organization on /admin/organizations: adding one, rights, removing one.

import { Check, Copy, Field, Notice, html, useState } from "../ui.js";
import { F, N, T, list as inWords, when } from "../i18n.js";
import { offered, roleName } from "../roles.js";
import { Found } from "./find.js";
import { Action } from "./reasons.js";

/** Checkboxes of rights, those of `has` checked. @param {{has: string[]}} props */
const Rights = ({ has }) => html`<fieldset><legend>${T("Rights")}</legend>
  ${[...new Set([...offered(), ...has])].map((role) => html`<${Check} key=${role} label=${roleName(role)} name=${`role ${role}`}
    defaultChecked=${has.includes(role)} />`)}</fieldset>`;

/** The rights that are checked in a form. @param {Record<string, string>} form */
const chosen = (form) => Object.keys(form).filter((name) => name.startsWith("role ")).map((name) => name.slice(5));

/** @param {{at: string, number: number, onDone: () => void}} props */
export function Members({ at, number, onDone }) {
  const [turn, setTurn] = useState(0);
  const [invitation, invite] = useState("");
  const done = () => {
    setTurn(turn + 1); // the list is read from its beginning
    onDone();
  };
  const row = (/** @type {AdminAPI["OrganizationMembers"]["members"][number]} */ m) => html`<tr key=${m.uid}><th scope="row"><a
    href=${`/admin/people?person=${m.uid}`}>${m.email ?? m.uid}</a><span class="hint block">${m.name}</span></th>
    <td>${inWords(m.roles.map(roleName))}</td><td>${when(m.since)}</td>
    <td><div class="row"><${Action} label=${T("Change rights")} question=${F("Which rights shall %s have?", m.email ?? m.uid)}
      path=${`${at}/set-member`} onDone=${done}
      read=${(/** @type {any} */ form) => ({ person: m.uid, roles: chosen(form) })}><${Rights} has=${m.roles} /><//>
    <${Action} kind="danger" label=${T("Remove")} question=${F("End the membership and all sessions of %s?", m.email ?? m.uid)}
      path=${`${at}/remove-member`} read=${() => ({ person: m.uid })} onDone=${done} /></div></td></tr>`;
  return html`<section class="card stack"><h2>${T("Members")}</h2>
    ${number > 0 && html`<p>${N("%d member", "%d members", number)}</p>`}
    <${Found} key=${turn} path=${`${at}/members`} member="members" caption=${T("Members")} row=${row} none=${T("There are no members.")}
      head=${[T("Email address"), T("Rights"), T("Member since"), T("Action")]} />
    <div class="row"><${Action} label=${T("Add a member")}
      question=${T("The person must have an account with a verified address, and belong to no other organization.")}
        path=${`${at}/set-member`} onDone=${done}
      read=${(/** @type {any} */ form) => ({ person: form.person.trim(), roles: chosen(form) })}>
      <${Field} label=${T("Person (uid or address)")} name="person" required maxlength="254" autocomplete="off" spellcheck="false" />
        <${Rights} has=${["Service.Transfer.Use"]} /><//>
      <${Action} label=${T("Create an invitation")}
        question=${T("Anyone with its link can become a member, as often as the limit of members allows. It does not expire.")}
          path=${`${at}/invitations`}
        read=${() => ({ roles: ["Service.Transfer.Use"] })}
          onDone=${(/** @type {Response} */ _, /** @type {any} */ { url }) => invite(url)} /></div>
    ${invitation && html`<${Notice} kind="good" title=${T("The invitation")}><p class="break"><a href=${invitation}>${invitation}</a></p>
      <${Copy} text=${invitation} label=${T("Copy the link")} /><//>`}</section>`;
}
