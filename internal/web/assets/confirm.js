// /confirm/{key}: a button confirms the email address. Opening the page alone does not.

import { Button, Icon, Problem, StepHeading, Waiting, html, show, useAction, useEffect, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { bearer, endSession, identity, nextPath, own } from "./api.js";
import { onSession, person, signedIn } from "./session.js";
import { MailboxLink } from "./mailboxlink.js";
import { createMailbox } from "./newmailbox.js";
import { SignIn } from "./signin.js";
import { useInvited } from "./signup-form.js";

const key = location.pathname.split("/")[2];
const next = nextPath();
const elsewhere = !signedIn(); // most likely the account was created in another browser

show(() => {
  const [inside, setInside] = useState(signedIn());
  const [done, setDone] = useState(false);
  const [first, setFirst] = useState(false); // the address was the first one of the account
  const [mailbox, setMailbox] = useState(/** @type {TransferAPI["OwnMailbox"] | null} */ (null));
  useEffect(() => onSession(() => { if (signedIn()) setInside(true); }), []); // signed in in another tab
  const invited = useInvited(next);
  const confirm = useAction(async () => {
    const { headers } = await own("POST", `${identity}/confirm/${key}`);
    const begins = bearer(headers) !== "";
    setFirst(begins);
    if (begins && !next.startsWith("/invitation/")) setMailbox(await createMailbox().catch(() => null)); // an organization may allow none
    if (next && !elsewhere) location.replace(next);
    else setDone(true);
  });
  if (done) {
    return html`<div class="narrow card center">
      <div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${T("Your email address is confirmed.")}<//>
      ${elsewhere && first && html`<p>
        ${T("You confirmed in a different browser from the one you signed up with. If that page is still open, it continues by itself.")}
          </p>`}
      ${mailbox && html`<p>${T("This is your link. Anyone who has it can send you files.")}</p><${MailboxLink} mailbox=${mailbox} />`}
      <a class="button primary" href=${next || "/inbox"}>${next ? T("Continue") : T("Open your inbox")}</a>
    </div>`;
  }
  if (invited === undefined) return html`<${Waiting} />`;
  return html`<div class="narrow card">
    <h1>${T("Confirm your email address")}</h1>
    ${inside ? html`
      <p>${F("You are signed in as %s.", person()?.email ?? "")}</p>
      <${Problem} error=${confirm.error} />
      ${confirm.error?.status === 404 && html`<p>${T("Already confirmed? Your account page shows it, and can send a new link.")} <a
        href="/account">${T("Your account")}</a></p>`}
      <div class="row">
        <${Button} kind="primary" busy=${confirm.busy} onClick=${() => confirm.run()}>${T("Confirm the address")}<//>
        <${Button} kind="quiet" onClick=${() => endSession().then(() => setInside(false))}>${T("Use another account")}<//>
      </div>` : html`
      <p>${T("First sign in to the account this address belongs to.")}</p>
      <${SignIn} email=${invited} onDone=${() => setInside(true)} />`}
  </div>`;
});
