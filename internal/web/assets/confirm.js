// /confirm/{key}: a button confirms the email address. Opening the page alone does not.

import { Button, Icon, Problem, StepHeading, Waiting, html, show, useAction, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { claims, forget, idToken, identity, nextPath, own, signedIn } from "./api.js";
import { SignIn } from "./signin.js";
import { useInvited } from "./signup-form.js";

const key = location.pathname.split("/")[2];
const next = nextPath();

show(() => {
  const [inside, setInside] = useState(signedIn());
  const [done, setDone] = useState(false);
  const invited = useInvited(next);
  const confirm = useAction(async () => {
    await own("POST", `${identity}/confirm/${key}`);
    if (next) location.replace(next);
    else setDone(true);
  });
  if (done) {
    return html`<div class="narrow card center">
      <div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${T("The email address is confirmed.")}<//>
      <div class="row center">
        <a class="button primary" href="/mailbox">${T("Set up your mailbox")}</a>
        <a class="button" href="/inbox">${T("Transfers")}</a>
      </div>
    </div>`;
  }
  if (invited === undefined) return html`<${Waiting} />`;
  return html`<div class="narrow card">
    <h1>${T("Confirm your email address")}</h1>
    ${inside ? html`
      <p>${F("You are signed in as %s.", claims(idToken()).email ?? "")}</p>
      <${Problem} error=${confirm.error} />
      <div class="row">
        <${Button} kind="primary" busy=${confirm.busy} onClick=${() => confirm.run()}>${T("Confirm the address")}<//>
        <${Button} kind="quiet" onClick=${() => forget().then(() => setInside(false))}>${T("Use another account")}<//>
      </div>` : html`
      <p>${T("Sign in first, to the account that the address belongs to.")}</p>
      <${SignIn} email=${invited} onDone=${() => setInside(true)} />`}
  </div>`;
});
