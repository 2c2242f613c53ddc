// The invitations that the signed-in person can accept, as a list on /account and /inbox.

import { html, useLoaded } from "./ui.js";
import { F, T, when } from "./i18n.js";
import { accessClaims, identity, own } from "./api.js";
import { roleName } from "./roles.js";

/**
 * Lists the person's open invitations; nothing when there are none.
 * @param {{shared?: boolean}} props `shared`: those for everybody, too
 */
export function Invitations({ shared = false }) {
  const { value } = useLoaded(async () => {
    const said = await accessClaims();
    const member = Object.entries(said).find(([name]) => name.endsWith("/org_id"))?.[1];
    const { body } = await own("GET", `${identity}/invitations`);
    return body.invitations.filter((i) => i.organization.uid !== member && (shared || !i.shared));
  });
  if (!value?.length) return null;
  return html`<section class="card stack" id="invitations"><h2>${T("Invitations for you")}</h2>
    <ul class="list rows">${value.map((i) => html`<li key=${i.key} class="row between">
      <span><b class="break">${i.organization.name || i.organization.hostname}</b>
        <span class="hint block">${i.roles.map(roleName).join(" · ")}</span>
        ${i.expiresAt && html`<span class="hint block">${F("The invitation is valid until %s.", when(i.expiresAt))}</span>`}</span>
      <a class="button" href=${`/invitation/${i.key}`}>${T("View the invitation")}</a>
    </li>`)}</ul>
  </section>`;
}
