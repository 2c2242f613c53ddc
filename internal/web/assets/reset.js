// /reset: requests the mail with the link to choose a new password.

import { Button, Field, Form, Icon, Problem, StepHeading, html, show, useAction, useState } from "./ui.js";
import { F, T } from "./i18n.js";
import { call, identity } from "./api.js";
import "./shell.js";

show(() => {
  const [sent, setSent] = useState("");
  const ask = useAction(async ({ address }) => {
    await call("POST", `${identity}/auth/reset`, { json: { address: address.trim() } });
    setSent(address.trim());
  });
  if (sent) {
    return html`<div class="narrow card center">
      <span class="halo"><${Icon} name="mail" /></span>
      <${StepHeading}>${T("Check your email")}<//>
      <p>${F("If there is an account for %s, we’ve sent an email with a link. The link works for one hour.", sent)}</p>
    </div>`;
  }
  return html`<div class="narrow card">
    <h1>${T("Forgot your password?")}</h1>
    <p class="dim">${T("We’ll email you a link to choose a new one.")}</p>
    <${Form} onSend=${ask.run}>
      <${Field} label=${T("Email address")} name="address" type="email" required autocomplete="username" />
      <${Problem} error=${ask.error} />
      <${Button} type="submit" kind="primary" busy=${ask.busy}>${T("Send the link")}<//>
    <//>
    <p class="links"><a href="/login">${T("Sign in")}</a></p>
  </div>`;
});
