// /signup: creates an account and says that the confirmation mail was sent.

import { Button, Field, Form, Icon, Notice, Problem, StepHeading, html, show, useAction, useState } from "./ui.js";
import { F, T, locale } from "./i18n.js";
import { call, identity, keep, own } from "./api.js";
import { members } from "./errors.js";
import { NewPassword } from "./signin.js";

show(() => {
  const [sent, setSent] = useState("");
  return sent ? html`<${Sent} address=${sent} />` : html`<${SignUp} onSent=${setSent} />`;
});

function SignUp({ onSent }) {
  const sign = useAction(async ({ name, address, password }) => {
    const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const json = { address: address.trim(), password, locale, ...(name.trim() ? { name: name.trim() } : {}), ...(timeZone ? { timeZone } : {}) };
    const { body } = await call("POST", `${identity}/signup`, { json });
    await keep(body.token, false);
    onSent(json.address);
  });
  const wrong = members(sign.error);
  const badAddress = wrong.address && sign.error.status === 400 && T("This is not an email address that can be used.");
  return html`<div class="narrow card">
    <h1>${T("Create an account")}</h1>
    <p class="dim">${T("You need an email address that you can read.")}</p>
    <${Form} onSend=${sign.run}>
      <${Field} label=${T("Your name")} name="name" optional maxlength="120" autocomplete="name" />
      <${Field} label=${T("Email address")} name="address" type="email" required maxlength="254" autocomplete="username" error=${badAddress} />
      <${NewPassword} label=${T("Password")} name="password" refused=${wrong.password} />
      <${Problem} error=${sign.error} />
      <${Button} type="submit" kind="primary" busy=${sign.busy}>${T("Create an account")}<//>
    <//>
    <p class="links"><a href="/login">${T("I have an account")}</a></p>
  </div>`;
}

function Sent({ address }) {
  const again = useAction(() => own("POST", `${identity}/profile/emails/${encodeURIComponent(address)}/verify`));
  const [asked, setAsked] = useState(false);
  return html`<div class="narrow card center">
    <span class="halo"><${Icon} name="mail" /></span>
    <${StepHeading}>${T("Look into your mail")}<//>
    <p>${F("We have sent a message to %s. Open the link in it to confirm your address.", address)}</p>
    <p class="hint">${T("No message after a few minutes? Look into the folder for junk mail, or ask for another message.")}</p>
    <${Problem} error=${again.error} />
    ${asked && !again.error && !again.busy && html`<${Notice} kind="good">${T("Another message is on its way.")}<//>`}
    <${Button} busy=${again.busy} onClick=${() => { setAsked(true); again.run(); }}>${T("Send the message again")}<//>
  </div>`;
}
