// /undo/{key}: a button ends all sessions and undoes a change of the account (contract 3.23). Opening the page alone does not.

import { Button, Icon, Problem, StepHeading, html, show, useAction, useState } from "./ui.js";
import { T } from "./i18n.js";
import { call, identity } from "./api.js";
import "./shell.js";

const key = location.pathname.split("/")[2];

show(() => {
  const [result, setResult] = useState(/** @type {{undone: boolean} | null} */ (null));
  const undo = useAction(async () => setResult((await call("POST", `${identity}/auth/undo/${key}`)).body));
  if (result) {
    return html`<div class="narrow card center">
      <div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${result.undone ? T("The change was undone") : T("All sessions were ended")}<//>
      <p>${result.undone
        ? T("All sessions were ended. If the account has a password, it no longer works: a message with a link to choose a new one is on its way to the main address.")
        : T("This link was sent to an address that may not undo the change. Messages to your other addresses, or about earlier changes, have links that undo it.")}</p>
      <p>${T("After you have signed in again, check the email addresses and the ways to sign in of your account.")}</p>
      <a class="button primary" href="/login">${T("Sign in")}</a>
    </div>`;
  }
  return html`<div class="narrow card">
    <h1>${T("This was not me")}</h1>
    <p>${T("Did somebody else change your account or sign in to it? This ends all sessions and undoes the change and all later ones. Then you choose a new password.")}</p>
    <${Problem} error=${undo.error} />
    <${Button} kind="primary" busy=${undo.busy} onClick=${() => undo.run()}>${T("End all sessions and undo the change")}<//>
  </div>`;
});
