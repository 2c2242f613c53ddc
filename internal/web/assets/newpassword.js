// /reset/{key}: sets a new password. The key is consumed by the button, not by opening the page.

import { Button, Form, Icon, Problem, StepHeading, html, show, useAction, useRef, useState } from "./ui.js";
import { T } from "./i18n.js";
import { call, identity, keep, own } from "./api.js";
import { claims } from "./session.js";
import { NewPassword, SecondFactor } from "./signin.js";

const key = location.pathname.split("/")[2];

show(() => {
  const [mfa, setMfa] = useState(/** @type {any} */ (null));
  const [done, setDone] = useState(false);
  const begun = useRef(false); // the key was consumed and the session exists; a rejected password can be retried
  const wish = useRef("");

  /** Sets the password with the session from the reset. */
  async function change() {
    const { body } = await own("GET", `${identity}/profile/authenticators`);
    const { uid } = /** @type {IdentityAPI["Authenticator"]} */ (body.authenticators.find((a) => a.type === "bcrypt"));
    await own("PUT", `${identity}/profile/authenticators/${uid}`, { json: { pubKey: wish.current } });
    setDone(true);
  }
  async function enter(token) {
    await keep(token, false);
    begun.current = true;
    setMfa(null);
    await change();
  }
  const reset = useAction(async ({ password }) => {
    wish.current = password;
    if (begun.current) return change();
    const { body } = await call("POST", `${identity}/auth/reset/${key}`);
    return claims(body.token).scope === "mfa" ? setMfa(body.token) : enter(body.token);
  });
  if (done) {
    return html`<div class="narrow card center">
      <div class="seal"><${Icon} name="check" /></div>
      <${StepHeading}>${T("Your new password is set")}<//>
      <p>${T("All other devices were signed out.")}</p>
      <a class="button primary" href="/inbox">${T("Continue")}</a>
    </div>`;
  }
  return html`<div class="narrow card">
    <h1>${T("Choose a new password")}</h1>
    ${mfa ? html`<${SecondFactor} email=${claims(mfa).email ?? ""} token=${mfa} onToken=${enter} />` : html`
    <${Form} onSend=${reset.run} refused=${reset.error}>
      <${NewPassword} label=${T("New password")} name="password" member="pubKey" />
      <${Problem} error=${reset.error} />
      <${Button} type="submit" kind="primary" busy=${reset.busy}>${T("Set password")}<//>
    <//>`}
    <p class="links"><a href="/reset">${T("Request a new link")}</a></p>
  </div>`;
});
