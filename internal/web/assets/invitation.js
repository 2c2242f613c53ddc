// /invitation/{key}: shows the inviting organization; a button accepts the invitation.

import { Button, Icon, Notice, Problem, StepHeading, html, show, useAction, useLoaded, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { claims, forget, idToken, identity, own, signedIn } from "./api.js";
import { SignIn } from "./signin.js";
import { roleName } from "./roles.js";

const key = location.pathname.split("/")[2];

show(() => {
  const [inside, setInside] = useState(signedIn());
  return html`<div class="narrow card">
    ${inside ? html`<${Invitation} onOther=${() => forget().then(() => setInside(false))} />` : html`
    <h1>${T("Join an organization")}</h1>
    <p>${T("Sign in to accept the invitation, with the address it was sent to.")}</p>
    <${SignIn} onDone=${() => setInside(true)} />
    <p class="links"><a href="/signup">${T("Create an account")}</a></p>`}
  </div>`;
});

function Invitation({ onOther }) {
  const { value, error } = useLoaded(async () => {
    const { body } = await own("GET", `${identity}/invitations`);
    return body.invitations.find((i) => i.key === key) ?? { unknown: true }; // shared invitations of other organizations are not listed
  });
  const [done, setDone] = useState(false);
  const accept = useAction(async () => {
    await own("POST", `${identity}/invitations/${key}/accept`);
    setDone(true);
  });
  const name = value?.organization?.name ?? "";
  if (done) {
    return html`<div class="center"><div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${F("You are a member of %s", name || T("Organization"))}<//>
      <a class="button primary" href="/inbox">${T("Continue")}</a></div>`;
  }
  return html`<h1>${name ? F("%s invites you", name) : T("Join an organization")}</h1>
    <${Problem} error=${error} />
    ${value && html`
      <p>${F("You are signed in as %s.", claims(idToken()).email ?? "")}</p>
      ${value.roles?.length > 0 && html`<p>${T("As a member you may:")}</p><ul>${value.roles.map((role) => html`<li>${roleName(role)}</li>`)}</ul>`}
      ${accept.error?.status === 403 ? html`<${Notice} kind="bad">
        ${T("This cannot be accepted with this account: it belongs to another organization, or the invited address is not confirmed in it.")}<//>`
        : html`<${Problem} error=${accept.error} />`}
      <div class="row">
        <${Button} kind="primary" busy=${accept.busy} onClick=${() => accept.run()}>${T("Accept the invitation")}<//>
        <${Button} kind="quiet" onClick=${onOther}>${T("Use another account")}<//>
      </div>`}`;
}
