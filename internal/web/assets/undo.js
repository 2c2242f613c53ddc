// /undo/{key}: a button ends all sessions and undoes a change of the account (contract 3.23), or one of an organization (contract 3.29).
// Opening the page alone does not.

import { Button, Icon, Problem, StepHeading, html, show, useAction, useState } from "./ui.js";
import { T } from "./i18n.js";
import { call, identity } from "./api.js";
import "./shell.js";

const key = location.pathname.split("/")[2];
const ofOrganization = new URLSearchParams(location.search).get("of") === "organization";

show(() => {
  const [result, setResult] = useState(/** @type {{undone: boolean} | null} */ (null));
  const undo = useAction(async () => setResult((await call("POST", `${identity}/auth/undo/${key}`)).body));
  if (result && ofOrganization) {
    return html`<div class="narrow card center">
      <div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${T("The change was undone")}<//>
      <p>${T("The person who made it was signed out. Check the administrators and settings of your organization.")}</p>
      <a class="button primary" href="/login">${T("Sign in")}</a>
    </div>`;
  }
  if (ofOrganization) {
    return html`<div class="narrow card">
      <h1>${T("Undo this change")}</h1>
      <p>${T("Was a change of your organization not meant to happen? This undoes it and signs out the person who made it.")}</p>
      <${Problem} error=${undo.error} />
      <${Button} kind="primary" busy=${undo.busy} onClick=${() => undo.run()}>${T("Undo this change")}<//>
    </div>`;
  }
  if (result) {
    return html`<div class="narrow card center">
      <div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${result.undone ? T("The change was undone") : T("You’re signed out everywhere")}<//>
      <p>${result.undone
        ? T("Every device was signed out. If the account has a password, it no longer works: we’ve sent an email with a link to choose a new one to the main address.")
        : T("This link was sent to an address that may not undo the change. Messages to your other addresses, or about earlier changes, have links that undo it.")}</p>
      <p>${T("After you have signed in again, check the email addresses and the ways to sign in of your account.")}</p>
      <a class="button primary" href="/login">${T("Sign in")}</a>
    </div>`;
  }
  return html`<div class="narrow card">
    <h1>${T("This wasn’t me")}</h1>
    <p>${T("Did someone else change your account or sign in to it? This signs out every device and undoes the change and everything after it. Then you choose a new password.")}</p>
    <${Problem} error=${undo.error} />
    ${undo.error?.status === 404 && html`<p>${T("You can still choose a new password. It signs out all other devices.")} <a href="/reset">
      ${T("Choose a new password")}</a></p>`}
    <${Button} kind="primary" busy=${undo.busy} onClick=${() => undo.run()}>${T("Sign out everywhere and undo the change")}<//>
  </div>`;
});
